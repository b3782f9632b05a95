// What pagebench does inside of a page. It is there before the page is.
(() => {
  performance.setResourceTimingBufferSize(10000);
  const waiting = new Set();
  let last = { end: 0, script: 0, picture: 0, nodes: 0 };
  let paints = [];
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) {
      if (e.name !== "hone.paint") continue;
      last = { end: e.startTime + e.duration, script: e.duration, ...e.detail };
      paints.push(last);
      for (const w of [...waiting]) w();
    }
  }).observe({ type: "measure" });

  // painted resolves when something was painted after a time, and not the picture that was there before, with all that is
  // written in it unless some is enough.
  const painted = (after, not, some) => new Promise((done, fail) => {
    const look = () => {
      if (last.end <= after || last.picture === not || !(last.done || some)) return;
      clearTimeout(timer);
      waiting.delete(look);
      done(last);
    };
    const timer = setTimeout(() => {
      waiting.delete(look);
      fail(new Error("nothing was painted for a minute"));
    }, 60000);
    waiting.add(look);
    look();
  });
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const quiet = async () => {
    for (let n = 0; n < 3; n++) {
      await frame();
      if (Number(document.documentElement.dataset.asking) > 0) n = -1;
    }
  };
  // settled waits until no answer is awaited any more and what came is on the screen, and returns when that was.
  const settled = async () => {
    let end = 0;
    for (let n = 0; n < 3; n++) {
      await frame();
      if (Number(document.documentElement.dataset.asking) > 0) {
        n = -1;
        end = 0;
      } else if (end === 0) end = performance.now();
    }
    return end;
  };
  const next = () => new Promise((done) => requestAnimationFrame(() => done(performance.now())));
  // turn does something that leads to another picture, and returns how long that took, and how long until whatever was
  // painted first.
  const turn = async (act, rest = true) => {
    if (rest) await quiet();
    const before = last.picture;
    const start = performance.now();
    act();
    const first = (await painted(start, 0, true)).end - start;
    return { took: (await painted(start, before)).end - start, first, answer: answer() };
  };
  const answer = () => {
    const e = performance.getEntriesByType("resource").filter((e) => e.name.includes("/api/flame")).pop();
    return e.responseEnd - e.requestStart;
  };
  // trail is what the page says it is zoomed into. The URL follows later.
  const trail = () => document.querySelector(".breadcrumb")?.textContent;
  const zoomed = new Set(); // what is zoomed into a second time is there already
  const named = (selector, text) => [...document.querySelectorAll(selector)].find((e) => e.textContent.includes(text));
  const scroller = () => document.querySelector(".scroller");
  const mouse = (type, x, row) => {
    const box = scroller().getBoundingClientRect();
    scroller().dispatchEvent(new MouseEvent(type, { bubbles: true, clientX: box.x + x * box.width, clientY: box.y + row * 20 + 10 }));
  };
  const key = (name) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));

  globalThis.pagebench = {
    // drawn waits for the first picture.
    async drawn() {
      const { end } = await painted(0, 0);
      await quiet(); // the first picture may have less than all calls
      const answers = performance.getEntriesByType("resource").filter((e) => e.name.includes("/api/") && e.responseEnd <= last.end);
      // What is open is known when the profile is read: the page of a large one is there before.
      const session = performance.getEntriesByType("resource").find((e) => e.name.includes("/api/session"));
      const read = (session ?? performance.getEntriesByType("navigation")[0]).responseEnd;
      return { at: performance.timeOrigin + end, took: end, afterRead: end - read, wholeAfter: last.end - read, payload: answers.reduce((sum, e) => sum + e.encodedBodySize, 0) };
    },
    script: () => fetch("/assets/app.js").then((r) => r.text()),
    async focus(rx) {
      named(".pills button", "add").click();
      await frame();
      const box = document.querySelector(".add input");
      box.value = rx;
      box.dispatchEvent(new Event("input", { bubbles: true }));
      return turn(() => document.querySelector(".add").requestSubmit());
    },
    unfocus: () => turn(() => named(".pill button", "×").click()),
    // zoom zooms into boxes of some rows, and out again. Before that it looks at the picture for a while, as somebody would who
    // has not seen it before; meanwhile the server opens calls ahead. With a pause, each box is clicked on first, as both hands
    // and keys do, and the second click comes so many milliseconds later.
    async zoom(looks, spots, pause) {
      const found = [];
      await new Promise((done) => setTimeout(done, looks));
      for (const [x, row] of spots) {
        await quiet();
        if (pause > 0) {
          mouse("mousemove", x, row);
          mouse("click", x, row);
          await new Promise((done) => setTimeout(done, pause));
          mouse("click", x, row);
        }
        const before = trail();
        zoomed.add(before);
        let hit;
        const got = turn(() => {
          mouse("dblclick", x, row);
          hit = frame().then(frame).then(() => !zoomed.has(trail()));
        }, pause === 0);
        got.catch(() => {});
        while (hit === undefined) await frame();
        hit = await hit;
        zoomed.add(trail());
        if (!hit) {
          await quiet();
          key("r");
          continue;
        }
        found.push(await got);
        await turn(() => key("r"));
      }
      return found;
    },
    // select opens the ranking with a function selected. Answers in another unit are not those that the server has.
    select(name, unit) {
      history.pushState(null, "", name ? "/top?sort=cum&unit=" + unit + "&ui.sel=" + name : "/top");
      dispatchEvent(new PopStateEvent("popstate"));
      return settled();
    },
    // visit goes to another view by its tab, or presses a key, and returns how long it took until its first picture was there, where it has one,
    // and until all was.
    async visit(tab, pressed) {
      await quiet();
      const before = last.picture;
      const start = performance.now();
      if (pressed) {
        key(pressed);
      } else [...document.querySelectorAll(".tabs a")].find((a) => a.textContent === tab).click();
      const all = settled();
      const pictured = pressed ? painted(start, before).then((p) => p.end, () => all) : all;
      const took = [(await Promise.race([pictured, all])) - start, (await all) - start];
      if (pressed === "c" && document.querySelector(".tabs [aria-current]").textContent !== "Callers") throw new Error("no function is selected");
      return took;
    },
    // gaps moves about in a picture without waiting for it, and returns the times between frames.
    async gaps(kind, frames) {
      await quiet();
      const out = [];
      const box = document.querySelector(".search input");
      let last = await next();
      for (let i = 0; i < frames; i++) {
        if (kind === "hovering") mouse("mousemove", (i * 0.0618) % 1, 1 + (i % 20));
        else if (kind === "zooming" && i % 30 === 0) mouse("dblclick", ((i / 30) * 0.37 + 0.1) % 1, 2 + ((i / 30) % 3));
        else if (kind === "zooming" && i % 30 === 20) key("Escape");
        else if (kind === "searching" && i % 8 === 0) {
          box.value = "encoding".slice(0, (i / 8) % 9);
          box.dispatchEvent(new Event("input", { bubbles: true }));
        }
        const now = await next();
        out.push(now - last);
        last = now;
      }
      return out;
    },
    nodes: async () => (await painted(0, 0)).nodes,
    // step does one of the things that have the picture painted anew, and waits until it is.
    async step(i) {
      paints = [];
      const kind = i % 6;
      const x = (i * 0.618) % 1;
      if (kind < 3) mouse("mousemove", x, 1 + (i % 30));
      else if (kind === 3) key(["ArrowDown", "ArrowRight", "ArrowLeft"][i % 18 / 6 | 0]);
      else if (kind === 4) scroller().scrollTop = (i * 37) % Math.max(1, scroller().scrollHeight - scroller().clientHeight);
      else if (i % 12 === 5) mouse("dblclick", x, 2 + (i % 5));
      else key("Escape");
      await (kind === 5 ? quiet() : frame());
      await frame();
      return paints.map((p) => p.script);
    },
  };
})();
