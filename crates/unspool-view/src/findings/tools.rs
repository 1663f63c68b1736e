//! What tools do to the world, by their names: finders must not take a change for a repetition.
//!
//! In: the name of a tool. Out: a role. Never here: a single call.

use crate::asking::asks_a_person;

/// What a tool does, as far as repetition is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Reads one file.
    Read,
    /// Looks something up and changes nothing.
    Look,
    /// Changes files.
    Write,
    /// Runs commands, which may change anything.
    Shell,
    /// Waits or asks how far something is; repeating it is its purpose.
    Poll,
    /// Starts an agent.
    Spawn,
    /// Asks a person.
    Ask,
    /// Anything else.
    Other,
}

const NAMES: &[(Role, &[&str])] = &[
    (
        Role::Read,
        &[
            "read",
            "view",
            "cat",
            "read_file",
            "readfile",
            "open_file",
            "view_file",
            "notebookread",
            "fs_read",
            "fsread",
        ],
    ),
    (
        Role::Look,
        &[
            "grep",
            "glob",
            "ls",
            "list",
            "search",
            "find",
            "list_directory",
            "list_dir",
            "search_file_content",
            "grep_search",
            "file_search",
            "codebase_search",
            "websearch",
            "web_search",
            "google_web_search",
            "webfetch",
            "web_fetch",
            "fetch",
            "toolsearch",
            "find_by_name",
            "read_many_files",
            "lsp",
            "view_image",
        ],
    ),
    (
        Role::Write,
        &[
            "edit",
            "write",
            "multiedit",
            "notebookedit",
            "apply_patch",
            "applypatch",
            "patch",
            "str_replace_editor",
            "str_replace_based_edit_tool",
            "replace",
            "write_file",
            "edit_file",
            "create_file",
            "create",
            "fs_write",
            "fswrite",
            "write_to_file",
            "replace_file_content",
            "replace_in_file",
            "delete_file",
        ],
    ),
    (
        Role::Shell,
        &[
            "bash",
            "shell",
            "exec",
            "exec_command",
            "local_shell",
            "local_shell_call",
            "run_shell_command",
            "run_command",
            "execute_command",
            "execute_bash",
            "execute",
            "powershell",
            "container.exec",
            "shell_command",
            "run_terminal_cmd",
        ],
    ),
    (
        Role::Poll,
        &[
            "bashoutput",
            "taskoutput",
            "agentoutputtool",
            "agentoutput",
            "taskget",
            "tasklist",
            "wait",
            "wait_agent",
            "wait_for_agent",
            "sleep",
            "read_bash",
            "command_status",
            "write_stdin",
            "monitor",
            "read_agent",
            "list_agents",
            "todoread",
            "todowrite",
            "taskupdate",
            "taskcreate",
            "update_plan",
            "report_intent",
            "sendmessage",
            "send_input",
        ],
    ),
    (
        Role::Spawn,
        &["task", "agent", "spawn_agent", "delegate", "new_task", "subagent", "invoke_agent", "workflow"],
    ),
];

pub(super) fn role_of(name: &str) -> Role {
    if asks_a_person(name) {
        return Role::Ask;
    }
    let name = name.to_lowercase();
    let known = NAMES.iter().find(|(_, names)| names.contains(&name.as_str()));
    known.map_or(Role::Other, |(role, _)| *role)
}

impl Role {
    /// Whether a call may change what the next one sees.
    pub(super) fn may_change(self) -> bool {
        !matches!(self, Role::Read | Role::Look | Role::Poll | Role::Ask)
    }

    /// Whether doing the same again is what the tool is for.
    pub(super) fn repeats_on_purpose(self) -> bool {
        matches!(self, Role::Poll | Role::Ask)
    }
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
