//! The surroundings of an attack: a home with secrets, data sets, results of others, sockets to talk to, and the
//! attacker.

use std::{
    ffi::OsString,
    fs, io,
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            fs::{MetadataExt as _, PermissionsExt as _, lchown},
            net::{SocketAddr, UnixDatagram, UnixListener},
        },
    },
    path::{Path, PathBuf},
    process::Command,
};

use proctor_test_needs::{skip, skip_without_hardware};
use proctor_tests::{Bench, Finished, Run, built, compile, compile_program};
use serde_json::Value;

/// User and group of somebody who owns nothing.
const NOBODY: u32 = 65534;

/// Prefix of a command that runs it as the user `nobody`.
const AS_NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// The beginning of everything that the attacker must not read.
const SECRET: &str = "secret-of-";

/// The user as whom the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    /// The one who runs the tests.
    Own,
    /// Another one, who may do less than root.
    Nobody,
}

impl User {
    /// Both users; the other one alone where the tests run as root, who may become one.
    pub(super) fn all() -> Vec<Self> {
        // The program may lie in a folder of root alone.
        let program = [built("host").into_os_string(), "--version".into()];
        let tried = Command::new(AS_NOBODY[0]).args(&AS_NOBODY[1..]).args(program).output();
        if tried.is_ok_and(|tried| tried.status.success()) {
            return vec![Self::Own, Self::Nobody];
        }
        skip_without_hardware("a second user to run the program as (setpriv, as root)");
        vec![Self::Own]
    }

    /// Whether it is root.
    pub(super) fn is_root(self) -> bool {
        self == Self::Own && fs::metadata("/proc/self").is_ok_and(|this| this.uid() == 0)
    }
}

/// A folder with everything in it that is attacked.
pub(super) struct World {
    bench: Bench,
    user: User,
    launcher: PathBuf,
    /// Program that runs are started through, if any.
    sandbox: Option<PathBuf>,
    shared_memory: PathBuf,
    /// Sockets that somebody listens at, as long as this is there.
    _sockets: (UnixListener, UnixListener, UnixDatagram, TcpListener),
}

/// Use of a terminal, and of memory by the program on it.
pub(super) struct Report {
    /// Number of bytes typed on it.
    pub(super) typed: u64,
    /// Number of bytes shown on it.
    pub(super) shown: u64,
    /// Peak memory of the program in KiB.
    pub(super) peak_kib: u64,
}

impl World {
    /// Sets it up, with the attacker compiled as `defines` says of the folder. `None` without a compiler.
    pub(super) fn new(user: User, defines: impl FnOnce(&Path) -> Vec<String>) -> Option<Self> {
        let bench = Bench::new();
        let folder = bench.path().to_owned();
        let name = folder.file_name().expect("a folder has a name").to_string_lossy().into_owned();
        let shared_memory = PathBuf::from(format!("/dev/shm/{name}"));
        bench.write("home/secret.txt", format!("{SECRET}the-home"));
        for name in ["emptied", "removed", "renamed"] {
            bench.write(&format!("home/{name}.txt"), format!("{name}, it is not"));
        }
        let program = bench.write("home/program", "#!/bin/sh\nexit 0\n");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("it is ours");
        bench.write("runs/other/result.json", format!("{{\"text\": \"{SECRET}a-run\"}}"));
        bench.write("cache/proctor/prepared/precious", "precious");
        bench.write("cache/proctor/generated/precious", "precious");
        let _ = bench.copy_of_datasets();
        let abstract_name = SocketAddr::from_abstract_name(folder.as_os_str().as_encoded_bytes());
        let sockets = (
            UnixListener::bind(bench.file("listener")).expect("a socket can be made"),
            UnixListener::bind_addr(&abstract_name.expect("it is short")).expect("a socket can be made"),
            UnixDatagram::bind(bench.file("receiver")).expect("a socket can be made"),
            TcpListener::bind("127.0.0.1:0").expect("a port is free"),
        );
        let port = sockets.3.local_addr().expect("it has an address").port();
        let mut all = vec![
            format!("WORLD_FOLDER=\"{}\"", folder.display()),
            format!("SHM_FILE=\"{}\"", shared_memory.display()),
            format!("TCP_PORT={port}"),
        ];
        all.extend(defines(&folder));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let plugin = bench.file("plugin");
        fs::create_dir(&plugin).expect("a folder can be made");
        compile("attacker_plugin.c", &all, &plugin, "attacker")?;
        let launcher = compile_program("launcher.c", &folder, "launcher")?;
        // Last, as the one that does not go with the folder.
        fs::write(&shared_memory, format!("{SECRET}shared-memory")).expect("memory can be shared");
        if user == User::Nobody {
            give_away(&folder).expect("root may give files away");
            lchown(&shared_memory, Some(NOBODY), Some(NOBODY)).expect("root may give files away");
            lend_programs(&bench);
        }
        Some(Self { bench, user, launcher, sandbox: None, shared_memory, _sockets: sockets })
    }

    /// The same, with its runs in a sandbox that does not let a filter ask the host. `None` without a compiler.
    pub(super) fn in_sandbox(mut self) -> Option<Self> {
        let sandbox = compile_program("sandbox.c", self.bench.path(), "sandbox")?;
        if self.user == User::Nobody {
            lchown(&sandbox, Some(NOBODY), Some(NOBODY)).expect("root may give files away");
        }
        self.sandbox = Some(sandbox);
        Some(self)
    }

    /// The user of its runs.
    pub(super) fn user(&self) -> User {
        self.user
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.bench.file(name)
    }

    /// The file that the attacker may leave in shared memory.
    pub(super) fn left_in_shared_memory(&self) -> PathBuf {
        PathBuf::from(format!("{}-own", self.shared_memory.display()))
    }

    /// A short run of the attacker, which makes a group of attempts.
    pub(super) fn run(&self, group: &str, flags: &str) -> Run {
        self.run_named("attacker", group, flags)
    }

    /// As [`run`](Self::run), of an attacker with another name.
    pub(super) fn run_named(&self, name: &str, group: &str, flags: &str) -> Run {
        self.run_of(&format!("--set {name}.group={group} {flags}"))
    }

    /// A short run with these flags.
    pub(super) fn run_of(&self, flags: &str) -> Run {
        let run = self.run_that_may_read(flags);
        self.assert_nothing_was_read(&run);
        run
    }

    /// As [`run_of`](Self::run_of), where the user has given it a secret.
    pub(super) fn run_that_may_read(&self, flags: &str) -> Run {
        let output = self.file("out");
        for left in [output.clone(), output.with_added_extension("partial")] {
            match fs::remove_dir_all(&left) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    panic!("{}: {error}", left.display())
                }
                _ => {}
            }
        }
        let finished = self.host(&format!(
            "run --plugin {} --isolate --duration 20ms --mode performance --set floor=false --set issue=false --output {} \
             {flags}",
            self.file("plugin/libattacker_sut.so").display(),
            output.display()
        ));
        Run::new(finished, output)
    }

    /// Runs the program on a terminal of its own.
    fn host(&self, arguments: &str) -> Finished {
        let host = self.bench.command(arguments);
        let mut words = vec![self.launcher.clone().into_os_string(), self.file("report").into_os_string()];
        let is_own = self.user == User::Own;
        if !is_own {
            words.extend(AS_NOBODY.map(OsString::from));
        }
        words.extend(self.sandbox.clone().map(PathBuf::into_os_string));
        words.push(match is_own {
            true => host.get_program().to_owned(),
            false => self.file("bin/host").into_os_string(),
        });
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(host.get_args()).current_dir(self.bench.path());
        for (name, value) in host.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("PROCTOR_DATA_ROOT", self.file("datasets")).env("PROCTOR_LOG", "warn,plugin=info");
        command.env("HOME", self.file("home")).env("TOKEN", format!("{SECRET}the-environment"));
        self.bench.start_command(command).finish()
    }

    /// Use of the terminal of the latest run.
    pub(super) fn report(&self) -> Report {
        let text = fs::read_to_string(self.file("report")).expect("the launcher has written it");
        let number = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
            line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {key} in {text}"))
        };
        Report { typed: number("typed"), shown: number("shown"), peak_kib: number("peak_kib") }
    }

    /// Asserts that no secret is in what the run has said or left.
    fn assert_nothing_was_read(&self, run: &Run) {
        let result = run.find_text("result.json").unwrap_or_default();
        for said in [&run.finished.stdout, &run.finished.stderr, &result] {
            assert!(!said.contains(SECRET), "a secret was read: {}", run.finished);
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for file in [self.shared_memory.clone(), self.left_in_shared_memory()] {
            let _ = fs::remove_file(file);
        }
    }
}

/// How the plugin was restricted, as the result has it; `None` where this system does not restrict what it reads, and
/// the test is to skip itself.
pub(super) fn isolation(run: &Run) -> Option<&Value> {
    let isolation = &run.result()["plugin"]["isolation"];
    if isolation["files"] == "restricted" {
        return Some(isolation);
    }
    skip("this system does not restrict the process of a plugin: it has no landlock 3 (Linux 6.2)");
    None
}

/// Gives a folder and its contents to the user `nobody`.
fn give_away(folder: &Path) -> io::Result<()> {
    lchown(folder, Some(NOBODY), Some(NOBODY))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            give_away(&entry.path())?;
        } else {
            lchown(entry.path(), Some(NOBODY), Some(NOBODY))?;
        }
    }
    Ok(())
}

/// Copies the programs to a folder that `nobody` can reach, since the build folder may be private.
fn lend_programs(bench: &Bench) {
    let folder = bench.file("bin");
    fs::create_dir(&folder).expect("a folder can be made");
    for name in ["host", "proctor-worker"] {
        let (from, to) = (built(name), folder.join(name));
        if fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to).expect("a program can be copied");
        }
    }
}
