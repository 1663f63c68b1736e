//! A labelled session: the script of a whole conversation, written as the files Claude Code would leave.
//!
//! In: a shape and a seed. Out: files and truth. Never: a session that differs between two runs or machines.

mod agent;
mod conversation;
mod json;
mod notice;
pub(crate) mod prose;
mod spawn;
mod surroundings;
mod tools;
mod workflow;
mod world;

use crate::shape::{Layout, Mode, Replay, Shape};
use crate::truth::Labelled;
use agent::Task;
use conversation::{Conversation, Speaker};
use world::{Entry, World};

/// A session of this shape. The seed decides everything the shape leaves open.
pub fn generate(shape: Shape, seed: u64) -> Labelled {
    let mut world = World::new(shape, seed);
    let beginning = world.beginning();
    let mut talk = Conversation::new(Speaker::Main, beginning);
    if shape.internal {
        surroundings::internal_agents(&mut world, beginning);
    }
    let mut script = Script::default();
    let mut first_turn = (0, None);
    for turn in 0..shape.turns.max(1) {
        script.turn(&mut world, &mut talk, turn);
        if turn == 0 {
            first_turn = (talk.now, talk.last.clone());
            if shape.compaction {
                surroundings::compact(&mut world, &mut talk);
            }
        }
        talk.now += world.random.between(3_000, 600_000);
    }
    surroundings::at_the_end(&mut world, &mut talk);
    let mut lines = std::mem::take(&mut talk.entries);
    lines.append(&mut world.beside);
    lines.sort_by_key(|entry| entry.at);
    match shape.replay {
        Replay::None => {}
        Replay::Resume => replay(&mut world, &mut talk, &lines, &mut script, false),
        Replay::Branch => {
            let until = lines.iter().take_while(|entry| entry.at <= first_turn.0).count();
            talk.last = first_turn.1;
            replay(&mut world, &mut talk, lines.get(..until).unwrap_or_default(), &mut script, true);
        }
    }
    let first_session = world.truth.native_ids.first().cloned().unwrap_or_default();
    let path = format!("{}/{first_session}.jsonl", world.project);
    world.tree.add_lines(&path, lines.into_iter().map(|entry| entry.line));
    Labelled { tree: world.tree, sessions: vec![world.truth] }
}

/// Endless turns of one main conversation with agents in its own file, handed out turn by turn.
pub(crate) struct Endless {
    world: World,
    talk: Conversation,
    script: Script,
}

impl Endless {
    pub(crate) fn new(shape: Shape, seed: u64) -> Endless {
        let mut world = World::new(shape, seed);
        let beginning = world.beginning();
        Endless { world, talk: Conversation::new(Speaker::Main, beginning), script: Script::default() }
    }

    /// The lines of one more turn, which starts agents or does not.
    pub(crate) fn turn(&mut self, spawns: bool) -> Vec<String> {
        self.world.shape.spawning_turns = usize::from(spawns);
        self.script.turn(&mut self.world, &mut self.talk, 0);
        self.talk.now += self.world.random.between(3_000, 60_000);
        let mut lines = std::mem::take(&mut self.talk.entries);
        lines.append(&mut self.world.beside);
        lines.sort_by_key(|entry| entry.at);
        lines.into_iter().map(|entry| entry.line).collect()
    }

    /// How many agents there were so far.
    pub(crate) fn agents(&self) -> u64 {
        self.world.truth.agents.len() as u64
    }
}

/// What the conversation remembers from turn to turn.
#[derive(Default)]
struct Script {
    /// The first tasks, which may be run again.
    tasks: Vec<Task>,
}

impl Script {
    fn turn(&mut self, world: &mut World, talk: &mut Conversation, turn: usize) {
        let shape = world.shape;
        surroundings::before_input(world, talk);
        let long = world.is_long();
        let prompt = prose::prompt(&mut world.random, long);
        talk.user_text(world, &prompt);
        if shape.errors && turn == 0 {
            surroundings::api_error(world, talk);
        }
        tools::rounds(world, talk, shape.rounds);
        if turn < shape.spawning_turns {
            self.spawn(world, talk, turn);
        } else if shape.retries && turn + 1 == shape.turns {
            self.run_again(world, talk);
        }
        if shape.rounds > 2 {
            tools::rounds(world, talk, shape.rounds);
        }
        let answer = prose::answer(&mut world.random, long);
        tools::say(world, talk, &answer);
        surroundings::after_turn(world, talk);
    }

    fn spawn(&mut self, world: &mut World, talk: &mut Conversation, turn: usize) {
        if world.shape.layout == Layout::Workflow {
            workflow::workflow(world, talk);
            return;
        }
        let width = world.shape.width;
        let tasks = agent::tasks(world, 1, width);
        if let Some(task) = tasks.first().filter(|_| world.shape.retries && turn == 0) {
            spawn::refused(world, talk, task);
        }
        spawn::fan_out(world, talk, 1, &tasks);
        if turn == 0 {
            self.tasks = tasks;
        }
    }

    /// Hours later, one of the first prompts is run once more.
    fn run_again(&mut self, world: &mut World, talk: &mut Conversation) {
        let Some(mut task) = self.tasks.first().cloned() else { return };
        talk.now += world.random.between(3_600_000, 9_000_000);
        task.answer = prose::answer(&mut world.random, false);
        if matches!(world.shape.mode, Mode::Teammates | Mode::TeammateProcesses) {
            task.name = format!("{}-2", task.name);
        }
        spawn::fan_out(world, talk, 1, &[task]);
    }
}

/// A second file: copies of lines under a new session id, then a turn of its own.
fn replay(world: &mut World, talk: &mut Conversation, lines: &[Entry], script: &mut Script, branch: bool) {
    let old = format!("\"sessionId\":\"{}\"", world.session);
    let first = world.session.clone();
    world.session = world.random.uuid();
    world.truth.native_ids.push(world.session.clone());
    let origin = match (&talk.last, branch) {
        (Some(uuid), true) => {
            format!(",\"forkedFrom\":{{\"sessionId\":\"{first}\",\"messageUuid\":\"{uuid}\"}}")
        }
        _ => String::new(),
    };
    let new = format!("\"sessionId\":\"{}\"{origin}", world.session);
    let branch_of = (format!("\"gitBranch\":\"{}\"", world.branch), "\"gitBranch\":\"resumed\"");
    let mut copies: Vec<String> = lines
        .iter()
        .map(|entry| entry.line.replacen(&old, &new, 1).replacen(&branch_of.0, branch_of.1, 1))
        .collect();
    talk.now += world.random.between(60_000, 7_200_000);
    script.turn(world, talk, 0);
    let mut own = std::mem::take(&mut talk.entries);
    own.append(&mut world.beside);
    own.sort_by_key(|entry| entry.at);
    copies.extend(own.into_iter().map(|entry| entry.line));
    let path = format!("{}/{}.jsonl", world.project, world.session);
    world.tree.add_lines(&path, copies);
}
