# The image of a release: hone, and nothing that it would need to build programs.
#
# It reads profiles and recordings, asks servers, sends load and serves pages. Commands that build or run Go code (record PACKAGE,
# advise PACKAGE, fix, prove, race, compare, tour) need the go command, which this image leaves out: install hone in an image of golang for those.
#
# goreleaser puts the programs into linux/amd64 and linux/arm64 of the build context.
FROM gcr.io/distroless/static-debian12:nonroot
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/hone /usr/bin/hone
WORKDIR /work
ENTRYPOINT ["/usr/bin/hone"]
