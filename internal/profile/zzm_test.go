package profile
import ("testing";"math/rand/v2";"os";"strconv")
func TestZZM(t *testing.T){
	n,_:=strconv.Atoi(os.Getenv("ZZM")); if n==0 {return}
	rnd:=rand.New(rand.NewPCG(uint64(n),9))
	for range n {
		a:=make([]byte,60+rnd.IntN(200)); b:=make([]byte,len(a))
		for i:=range a { a[i]=byte(rnd.Uint32()); b[i]=a[i]; if i>20 || rnd.IntN(5)==0 || rnd.IntN(2)==0 && i<5 {b[i]=byte(rnd.Uint32())} }
		da,db:=draw(t,a),draw(t,b)
		checkAlone(t,da); checkPair(t,da,db); checkDiff(t,da,db)
	}
}
