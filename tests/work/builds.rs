//! Builds that other programs drive: make with several jobs, and Java's and Go's compilers where there are such.

use super::Twins;
use palisade_tests::program;

const MAKEFILE: &str = "
objects = $(patsubst %.c,%.o,$(wildcard parts/*.c))
all: sum meet deeper
sum: main.o $(objects)
\t@$(CC) -o $@ $^
%.o: %.c
\t@$(CC) -c -o $@ $<
meet: left right
left:
\t@echo met > pipe
right:
\t@cat pipe
deeper:
\t+@$(MAKE) --no-print-directory -C sub
clean:
\t@rm -f sum main.o $(objects)
.PHONY: all meet left right deeper clean
";

/// One end of the pipe waits for the other: without two jobs at once, and two more in the folder below, it would not
/// end.
#[test]
fn make_builds_with_several_jobs() {
    let Some(twins) = Twins::new() else { return };
    twins.write("Makefile", MAKEFILE);
    twins.write("sub/Makefile", "all: a b\na: ; @echo below > pipe\nb: ; @cat pipe > got\n.PHONY: all a b\n");
    twins.write("main.c", "#include <stdio.h>\nint f1(void), f2(void), f3(void);\nint main(void) { printf(\"%d\\n\", f1() + f2() + f3()); return 0; }\n");
    for part in 1..=3 {
        twins.write(&format!("parts/{part}.c"), &format!("int f{part}(void) {{ return {part}; }}\n"));
    }
    let printed = twins.same_and_well(
        "unset MAKEFLAGS; mkfifo pipe sub/pipe; make -j4 && cat sub/got && ./sum && ls parts
         make -q sum && echo up to date; sed -i 's/return 3/return 30/' parts/3.c && make -q sum || echo out of date
         make -j sum && ./sum; make clean && ls parts; rm pipe sub/pipe",
    );
    assert_eq!(
        printed,
        "met\nbelow\n6\n1.c\n1.o\n2.c\n2.o\n3.c\n3.o\nup to date\nout of date\n33\n1.c\n2.c\n3.c\n"
    );
}

const JAVA: &str = r#"
import java.net.*;
import java.nio.file.*;
import java.util.concurrent.*;

public class Work {
    public static void main(String[] arguments) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(2);
        System.out.println("thread " + threads.submit(() -> 6 * 7).get());
        threads.shutdown();
        Path temporary = Files.createTempFile("work", ".txt");
        Files.write(temporary, "temporary".getBytes());
        System.out.println(new String(Files.readAllBytes(temporary)) + " " + temporary.startsWith(arguments[0]));
        System.out.println("child " + new ProcessBuilder("sh", "-c", "exit 3").start().waitFor());
        InetAddress loopback = InetAddress.getByName("127.0.0.1");
        try (ServerSocket server = new ServerSocket(0, 5, loopback);
             Socket client = new Socket(loopback, server.getLocalPort())) {
            server.accept().getOutputStream().write(7);
            System.out.println("served " + client.getInputStream().read());
        }
        WatchService changes = FileSystems.getDefault().newWatchService();
        Path.of(".").register(changes, StandardWatchEventKinds.ENTRY_CREATE);
        Files.createFile(Path.of("made"));
        System.out.println("watched " + changes.take().pollEvents().get(0).context());
    }
}
"#;

/// Java takes no notice of `TMPDIR`, so it has to be told.
#[test]
#[ignore = "takes a while: cargo xtask integration --long"]
fn java_compiles_packs_and_runs() {
    if program("javac").is_none() {
        eprintln!("SKIPPED: there is no javac here");
        return;
    }
    let Some(twins) = Twins::new() else { return };
    twins.write("src/Work.java", JAVA);
    let printed = twins.same_and_well(
        "export TMPDIR=${TMPDIR:-/tmp}; javac -d classes src/Work.java && jar cfe work.jar Work -C classes . && \
         java -Djava.io.tmpdir=$TMPDIR -jar work.jar $TMPDIR; ls classes",
    );
    assert_eq!(printed, "thread 42\ntemporary true\nchild 3\nserved 7\nwatched made\nWork.class\n");
    // What happens to those that are not told, and how it is put right for programs that others start.
    let untold = twins.inside.line("java -jar work.jar $TMPDIR");
    assert!(untold.status == 1 && untold.stderr.contains("/tmp/work"), "{untold:#?}");
    let line = "rm made; JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=$TMPDIR java -jar work.jar $TMPDIR";
    let told = twins.inside.line(line).ok();
    assert!(told.stdout.contains("temporary true\n"), "{told:#?}");
}

const GO: &str = r#"package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
)

func twice(x int) int { return 2 * x }

func main() {
	sums := make(chan int)
	for i := 1; i <= 3; i++ {
		go func(i int) { sums <- twice(i) }(i)
	}
	fmt.Println("threads", <-sums+<-sums+<-sums)
	said, _ := exec.Command("sh", "-c", "echo child; exit 3").Output()
	fmt.Print(string(said))
	server, _ := net.Listen("tcp", "127.0.0.1:0")
	go func() {
		client, _ := server.Accept()
		client.Write([]byte("served"))
		client.Close()
	}()
	client, _ := net.Dial("tcp", server.Addr().String())
	var got [6]byte
	client.Read(got[:])
	fmt.Println(string(got[:]))
	_, err := os.MkdirTemp("", "work")
	fmt.Println(err)
}
"#;

/// Its cache is in the home directory if nobody says otherwise, and it asks git for the revision.
#[test]
#[ignore = "takes a while: cargo xtask integration --long"]
fn go_builds_tests_and_asks_git() {
    if program("go").is_none() {
        eprintln!("SKIPPED: there is no go here");
        return;
    }
    let Some(twins) = Twins::new() else { return };
    let twins = twins.set(&super::GIT);
    twins.write("go.mod", "module example.org/work\n\ngo 1.16\n");
    twins.write("main.go", GO);
    twins.write("main_test.go", "package main\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {\n\tif twice(2) != 4 {\n\t\tt.Fatal(t.TempDir())\n\t}\n}\n");
    let cache = "export GOCACHE=$PWD/cache GOFLAGS=-mod=mod GOTOOLCHAIN=local;";
    let work = "go vet . && go test -v . | grep -o 'PASS: TestTwice' && ./work";
    let printed = twins.same_and_well(&format!("{cache} go build -buildvcs=false -o work . && {work}"));
    let done = "PASS: TestTwice\nthreads 12\nchild\nserved\n<nil>\n";
    assert_eq!(printed, done);
    super::init(&twins.inside.root());
    super::init(&twins.outside.root());
    let stamped = twins.same_and_well(&format!(
        "{cache} rm work; git add go.mod *.go && git commit -q -m first && go build -o work . && ./work && \
         go version -m work | grep -c vcs.revision=$(git rev-parse HEAD)"
    ));
    assert_eq!(stamped, "threads 12\nchild\nserved\n<nil>\n1\n");
}
