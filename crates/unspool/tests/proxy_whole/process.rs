//! Processes that say where they listen, and are ended with the test.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use unspool_testkit::PATIENCE;
use unspool_testkit::model::{Client, Model};

/// The program, with a home of its own.
pub(crate) fn unspool(folder: &Path) -> Command {
    at_home(folder, env!("CARGO_BIN_EXE_unspool"))
}

/// A program with a folder for its home, and none of the variables around us.
pub(crate) fn at_home(folder: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    let names =
        ["UNSPOOL_CONFIG", "UNSPOOL_SERVER", "UNSPOOL_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"];
    for name in names {
        command.env_remove(name);
    }
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"] {
        command.env(name, folder);
    }
    command.env("UNSPOOL_DATA_DIR", folder.join("data"));
    command
}

/// A process that listens; killed when it is not needed any more.
pub(crate) struct Listening {
    child: Child,
    /// Addresses in its first line, in their order.
    pub(crate) addresses: Vec<String>,
}

impl Listening {
    pub(crate) fn start(mut command: Command) -> Listening {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let local = |word: &&str| word.starts_with("http://127.0.0.1:");
        let words: Vec<&str> = line.split_whitespace().collect();
        let addresses =
            words.iter().filter(|word| local(word)).map(|word| word["http://".len()..].to_string());
        let addresses: Vec<String> = addresses.collect();
        if addresses.is_empty() {
            let said = child.wait_with_output().unwrap();
            panic!("it did not start: {line}{}", String::from_utf8_lossy(&said.stderr));
        }
        Listening { child, addresses }
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn interrupt(mut self) -> bool {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.child.wait().unwrap().success()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A proxy between clients and a made-up model.
pub(crate) struct Carried {
    pub(crate) model: Model,
    pub(crate) proxy: Listening,
    pub(crate) folder: tempfile::TempDir,
}

/// Lets this process have as many files and connections open as the system allows.
pub(crate) fn allow_many_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    }
}

impl Carried {
    pub(crate) fn start() -> Carried {
        Carried::start_as(unspool)
    }

    /// In a process that is given as many open files as shells usually give.
    pub(crate) fn start_with_usual_files() -> Carried {
        Carried::start_as(|folder| {
            let usual = unspool(folder);
            if cfg!(not(unix)) {
                return usual;
            }
            let mut limited = Command::new("sh");
            limited.args(["-c", "ulimit -Sn 1024; exec \"$0\" \"$@\""]).arg(usual.get_program());
            for (name, value) in usual.get_envs() {
                match value {
                    Some(value) => limited.env(name, value),
                    None => limited.env_remove(name),
                };
            }
            limited
        })
    }

    fn start_as(unspool: impl FnOnce(&Path) -> Command) -> Carried {
        let folder = tempfile::tempdir().unwrap();
        let model = Model::remembering().unwrap();
        let mut command = unspool(folder.path());
        command.args(["proxy", "--listen", "127.0.0.1:0", "--page-listen", "127.0.0.1:0"]);
        for name in ["anthropic", "openai"] {
            command.args(["--upstream", &format!("{name}=http://{}", model.address())]);
        }
        let proxy = Listening::start(command);
        Carried { model, proxy, folder }
    }

    pub(crate) fn address(&self) -> &str {
        &self.proxy.addresses[0]
    }

    /// What the page's API answers.
    pub(crate) fn ask(&self, path: &str) -> Value {
        // The addresses of the upstreams stand between the two.
        let page = self.proxy.addresses.last().unwrap();
        let answer = Client::connect(page).unwrap().get(path).unwrap();
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// Waits until something holds of what a path answers.
    pub(crate) fn until(&self, path: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask(path);
            if holds(&answer) {
                return answer;
            }
            assert!(Instant::now() < deadline, "{what}: {answer}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until so many exchanges have been carried and nothing waits to be kept or shown.
    pub(crate) fn settle(&self, exchanges: u64) -> Value {
        self.until("/api/v1/health", "exchanges", |health| {
            let proxy = &health["proxy"];
            let is_kept = proxy["held_bytes"] == 0 && proxy["spooled_bytes"] == 0;
            proxy["exchanges"] == exchanges && is_kept && health["lag_ms"] == 0
        })
    }

    /// All sessions, as soon as they have so many calls of models and none of them runs any more.
    pub(crate) fn flows(&self, calls: usize) -> Vec<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let page = self.ask("/api/v1/sessions?limit=1000");
            let ids = page["sessions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|line| line["id"].as_str().unwrap().to_string());
            let flows: Vec<Value> = ids.map(|id| self.ask(&format!("/api/v1/sessions/{id}"))).collect();
            let steps = flows.iter().flat_map(|flow| flow["steps"].as_array().unwrap());
            let called: Vec<&Value> = steps.filter(|step| step["kind"] == "model_call").collect();
            let all = called.len();
            if all == calls && called.iter().all(|step| step["pending"] == false) {
                return flows;
            }
            assert!(Instant::now() < deadline, "{all} calls: {flows:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What a command said.
pub(crate) fn said(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).into_owned()
}
