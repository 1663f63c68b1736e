// Made from openapi.json by `npm run types`. Do not edit.

/** What went wrong, as JSON. */
export type ErrorDoc = {
  /** What went wrong. */
  error: ErrorBody;
};

/** What went wrong. */
export type ErrorBody = {
  /** Stable name. */
  code: string;
  /** In one sentence. */
  message: string;
  /** What can be done. */
  hint?: string | null;
  /** The first character of a query that it is about, from 0. */
  position?: number | null;
  /** How many characters it is about; 0 where something is missing. */
  length?: number | null;
};

/** A session became different. */
export type LiveChangeDoc = {
  /** The number of the change; the id of the event. */
  sequence: number;
  /** When it was published. */
  at: string;
  /** Which session. */
  session_id: string;
  /** What is known of it now; null when it has become part of another. */
  session?: SessionLineDoc | null;
  /** Steps that are new or different, as they are now; empty when there are more than `max_change_steps` (1,024). */
  steps: StepDoc[];
  /** Ids of the same; empty when there are more than `max_change_ids` (10,000). */
  step_ids: string[];
  /** How many steps are new or different. */
  step_count: number;
  /** Ids of steps that are no more; empty when there are more than `max_change_ids` (10,000). */
  removed: string[];
  /** Edges of the kinds that are new or different between two steps, as they are now; empty when there are more than `max_change_edges` (1,024). */
  edges: EdgeDoc[];
  /** Where there are none of a kind any more; empty when there are more than `max_change_edges` (1,024). */
  edges_removed: LiveEdgeEndsDoc[];
  /** How many pairs of steps have edges of a kind that are new, different or no more. */
  edge_count: number;
  /** Ids of agents that are new or different; empty when there are more than `max_change_ids` (10,000). */
  agent_ids: string[];
  /** Ids of agents that are no more; empty when there are more than `max_change_ids` (10,000). */
  agents_removed: string[];
  /** What else is different, of which no more is told: `runs`, `issues`, `links` (what people said about them). */
  others: string[];
  /** More may be different than is told here: look at the session again. */
  whole: boolean;
};

/** A session in a list. */
export type SessionLineDoc = {
  id: string;
  native_ids: string[];
  title?: string | null;
  title_inferred: boolean;
  cwd?: string | null;
  versions: string[];
  formats: string[];
  /** Where its records came from: `files`, `upload`, `otlp-http` and others. */
  sources: string[];
  /** Types of its agents. */
  agent_types: string[];
  /** Models that answered. */
  models: string[];
  status: string;
  started_at?: string | null;
  ended_at?: string | null;
  duration_ms?: number | null;
  agents: number;
  /** Agents that another one started; without those the client runs for itself. */
  subagents: number;
  runs: number;
  steps: number;
  errors: number;
  /** How many different things were odd; without those that only inform. */
  issues: number;
  /** Codes of issues that say that something of it is missing. */
  gaps: string[];
  /** When its steps began: 24 parts of its time, each as its share of the busiest one, from 0 to 255. Empty when that is not known. */
  activity: number[];
  /** Null when no source says how many. */
  tokens?: TokensDoc | null;
  uncounted_calls: number;
  cost_usd?: number | null;
};

/** Tokens in buckets that do not overlap. */
export type TokensDoc = {
  input: number;
  cache_read: number;
  cache_write: number;
  output: number;
  reasoning: number;
  total: number;
};

/** One thing that happened. */
export type StepDoc = {
  /** Deterministic id. */
  id: string;
  /** `user_message`, `model_call`, `tool_call` (call and result are one step), `agent_start`, `agent_stop`, `compaction`, `system`, `hook`, `retrieval`, `embedding`, `memory`, `router`, `guardrail`, `generic`. */
  kind: string;
  /** What a recorded request was for, where it was not an agent's work: `compaction`, `quota`, `count_tokens`, `warm_up`; `title`, `topic`, `path_extraction`, `command_prefix`, `status_word`, `auxiliary` of a client's helpers; `other` for what asks no model. Null for an agent's work. */
  request?: string | null;
  /** Whose step. */
  agent_id: string;
  /** How that is known: `stated` by its records; `inherited` from the agent's span around theirs, which name none; `assumed`, as nothing says so and the session's main agent was taken. */
  agent_source: string;
  /** The run it belongs to; null when no user input leads to it. */
  run_id?: string | null;
  /** Its place in the timeline tree: a tool call under its model call, an agent's first step under the call that started it, an agent's other steps under its first, the main agent's under the input of their run. */
  parent_id?: string | null;
  /** Position in the depth-first order of the tree. */
  seq: number;
  /** Depth by agent scope: the depth of its agent. */
  depth: number;
  /** Tool, model, agent type, subtype or hook, as the kind has it. */
  name?: string | null;
  /** Native id of the tool call. */
  tool_use_id?: string | null;
  /** Native id of the API message. */
  message_id?: string | null;
  /** Native uuid of its first record that has one. */
  uuid?: string | null;
  /** The id by which its source names it, with the session and run it is unique in. */
  native_id?: string | null;
  /** The model that answered. */
  model?: string | null;
  /** When it began. */
  started_at?: string | null;
  /** `started_at` is no record's time but the moment the step's input was complete, or follows from when it ended. */
  started_at_estimated: boolean;
  /** When it ended; null while nothing says so. */
  ended_at?: string | null;
  /** Milliseconds it took: as its source measured, else the difference of the two. */
  duration_ms?: number | null;
  /** Milliseconds from the session's first moment to its start. */
  elapsed_ms?: number | null;
  /** It failed. */
  is_error: boolean;
  /** It has begun and nothing says that it ended. */
  pending: boolean;
  /** The call returned before its work was done. */
  is_async: boolean;
  /** Injected by the client rather than said by a person or model. */
  meta: boolean;
  /** First words of the message, or what the tool was given, without what is meant for a terminal (colours and the like). */
  preview?: string | null;
  /** A hash of everything a tool was given, where it is known: equal for equal input. */
  input_hash?: number | null;
  /** The first line of the file that a call reads, from 1, where its input says. */
  first_line?: number | null;
  /** The last line of the file that it reads. */
  last_line?: number | null;
  /** First words of what went wrong, where it failed and its source says why. */
  error?: string | null;
  /** What it was for. */
  intent?: IntentDoc | null;
  /** Tokens in five buckets that never overlap; null when none were reported. */
  usage?: UsageDoc | null;
  /** The records that say it happened. */
  witnesses: WitnessDoc[];
};

/** What a step was for. */
export type IntentDoc = {
  /** In words. */
  text: string;
  /** Made from the tool and its input by rule, not stated by the source. */
  inferred: boolean;
};

/** Tokens in five disjoint buckets. */
export type UsageDoc = {
  /** Input neither read from nor written to a cache. */
  input: number;
  /** Input read from a cache. */
  cache_read: number;
  /** Input written to a cache. */
  cache_write: number;
  /** The part of `cache_write` kept for an hour, which costs more; not a sixth bucket. */
  cache_write_long: number;
  /** Visible output. */
  output: number;
  /** Output spent on thinking. */
  reasoning: number;
};

/** One record that witnesses a step. */
export type WitnessDoc = {
  /** For `unspool export --native`. */
  record_id: string;
  /** The format that read it. */
  format: string;
  /** The stream it came from. */
  stream: string;
  /** Its position in the stream, from 0. */
  ordinal: number;
};

/** A directed causal relation. */
export type EdgeDoc = {
  /** Step that caused. */
  from: string;
  /** Step that followed. */
  to: string;
  /** `calls`, `tool_result`, `subagent_spawn`, `subagent_return`, `sequence`, `continuation`, `depends_on`, `span_parent`, `span_link`, `content_reuse`. */
  kind: string;
  /** Why it is believed. */
  rule: string;
  /** 1 for explicit ids and order; less for inferred rules. */
  confidence: number;
  /** The rule guesses. */
  inferred: boolean;
  /** Native id of the tool call it runs over. */
  tool_use_id?: string | null;
  /** It carries an error. */
  is_error: boolean;
  /** Ids of the records that show it. */
  evidence: string[];
};

/** Between which steps there is no edge of a kind any more. */
export type LiveEdgeEndsDoc = {
  /** Step that caused. */
  from: string;
  /** Step that followed. */
  to: string;
  /** As in an edge. */
  kind: string;
};

/** Changes were missed: how things stand now, in their stead. */
export type LiveResetDoc = {
  /** The number of the last change; those behind it follow. */
  sequence: number;
  /** The session that is listened to, or those that ended last, at most `max_reset_sessions` (100), as they are now. */
  sessions: SessionLineDoc[];
  /** How many sessions are not told of here: ask for the list. */
  left_out: number;
};

/** What became of the files that were sent. */
export type UploadDoc = {
  /** One for each file, in their order. */
  files: FileReceiptDoc[];
};

/** What became of a file. */
export type FileReceiptDoc = {
  /** What it is called. */
  name: string;
  /** As what it was read; none when it was refused. */
  format?: string | null;
  /** Where it lies in the record log. */
  position?: number | null;
  /** Records in it. */
  records: number;
  /** Records that could not be read; their bytes are kept. */
  rejected: number;
  /** Why it was refused, or why records of it were rejected. */
  reason?: string | null;
  hint?: string | null;
};

/** How it stands. */
export type HealthDoc = {
  /** `ok`, or `degraded` when records are kept and nothing is derived from them, or the last one that was sent could not be kept. */
  status: string;
  version: string;
  records_stored: number;
  records_duplicate: number;
  records_rejected: number;
  steps_visible: number;
  sessions: number;
  /** How long the oldest record that is kept and not visible has been waiting. */
  lag_ms: number;
  /** How long the oldest change that words do not find has been waiting. */
  index_lag_ms: number;
  /** Bytes that what waits to be derived takes in memory. */
  pending_bytes: number;
  /** Families over `max_family_records`, which are linked less often. */
  large_families: number;
  /** What was refused with 429 since the process began, because too much waited (`max_pending_bytes`) or was being read (`max_reading_bytes`). Refusals of all sorts are counted in `unspool_requests_refused_total`, by code. */
  refused: number;
  problem?: string | null;
  /** Folders that are watched; null when none is. */
  watched_folders?: string[] | null;
  /** What the proxy carried, if there is one. */
  proxy?: ProxyDoc | null;
  /** What was found and mended at the start and since, in plain words. */
  notices: string[];
  /** Why words do not find what is new, if that is so. */
  index_problem?: string | null;
};

/** What the proxy carried. */
export type ProxyDoc = {
  /** Where it listens. */
  address?: string | null;
  /** The first parts of the paths that lead to upstreams, and where they lead. */
  routes: Record<string, string>;
  /** Exchanges since the process began. */
  exchanges: number;
  /** Bytes that wait in memory to be recorded. */
  held_bytes: number;
  /** Bytes that wait in a file to be recorded. */
  spooled_bytes: number;
  /** Exchanges that were not recorded, or not whole, by the reason. */
  lost: Record<string, number>;
  /** Bodies that could not be unpacked and are kept packed. */
  still_packed: number;
  /** Connections that no longer spoke HTTP: `WebSockets`. */
  sockets: SocketsDoc;
};

/** Connections that no longer spoke HTTP: `WebSockets`, and what went over them since the process began. */
export type SocketsDoc = {
  open: number;
  opened: number;
  /** From clients to upstreams. */
  up: WentDoc;
  /** From upstreams to clients. */
  down: WentDoc;
};

/** What went one way. */
export type WentDoc = {
  bytes: number;
  messages: number;
  /** Messages of which nothing is recorded but that they were there. */
  unread: number;
};

/** A page of sessions. */
export type SessionListDoc = {
  /** In the order asked for. */
  sessions: SessionLineDoc[];
  /** Where to go on; null at the end. */
  next_cursor?: string | null;
  /** How many sessions the filter lets through, on all pages. */
  matching: number;
  /** Sessions that have all the words of `q` and were not looked into, because `max_search_bytes` was reached, and those that an index in the making does not know yet. */
  unsearched_sessions: number;
};

/** The values by which sessions can be told apart. */
export type FacetsDoc = {
  /** `source`, `format`, `agent`, `model`, `cwd` and `status`, as the parameters of the list are called. */
  facets: FacetDoc[];
  /** Sessions that have all the words of `q` and were not looked into, because `max_search_bytes` was reached, and those that an index in the making does not know yet. */
  unsearched_sessions: number;
};

/** The values of one parameter. */
export type FacetDoc = {
  name: string;
  /** Those with most sessions first; at most `max_facet_values` (100). */
  values: FacetValueDoc[];
  /** How many values there are in all. */
  different: number;
};

/** A value that there is. */
export type FacetValueDoc = {
  value: string;
  /** Sessions that have it and fit everything else that is asked for. */
  sessions: number;
};

/** Sessions in which words stand. */
export type SearchDoc = {
  /** In the order asked for. */
  sessions: FoundSessionDoc[];
  /** Where to go on; null at the end. */
  next_cursor?: string | null;
  /** How many sessions there are, on all pages. */
  matching: number;
  /** Sessions that have all the words of `q` and were not looked into, because `max_search_bytes` was reached, and those that an index in the making does not know yet. */
  unsearched_sessions: number;
  /** What has no letter or digit in it and was not looked for. */
  ignored: string[];
  /** How long the oldest change that words do not find has been waiting. */
  index_lag_ms: number;
};

/** A session in which all of the words stand. */
export type FoundSessionDoc = {
  session: SessionLineDoc;
  /** Some steps in which they do, in the order of their records: at most `max_session_hits` (5). */
  hits: HitDoc[];
};

/** A step in which one of the words stands. */
export type HitDoc = {
  step: string;
  /** What stands before, on one line. */
  before: string;
  /** What was found. */
  hit: string;
  /** What stands behind. */
  after: string;
};

/** One session: a conversation or job. */
export type SessionDoc = {
  /** Deterministic id. */
  id: string;
  /** The ids its sources gave it, sorted; several when it was resumed or forked. */
  native_ids: string[];
  /** Given title, or the first prompt. */
  title?: string | null;
  /** The title is the first prompt. */
  title_inferred: boolean;
  /** Working directory, as first recorded. */
  cwd?: string | null;
  /** The working directory is what a client told its model in a prompt; left out when it was stated outright. */
  cwd_inferred?: boolean;
  /** Versions of the agent software that wrote it. */
  versions: string[];
  /** Formats that witness it. */
  formats: string[];
  /** First moment, RFC 3339 UTC. */
  started_at?: string | null;
  /** Last moment, RFC 3339 UTC. */
  ended_at?: string | null;
  /** Agents: main agents first, then in order of start. */
  agents: AgentDoc[];
  /** Runs in order of start. */
  runs: RunDoc[];
  /** Steps in order of `seq`. */
  steps: StepDoc[];
  /** Edges in order of target, source and kind. */
  edges: EdgeDoc[];
  /** What people said about links, in the order they said it; left out when nobody said anything. */
  links?: LinkDoc[];
  /** Anomalies of this session. */
  issues: IssueDoc[];
  /** Sums over all its steps. */
  totals: TotalsDoc;
  /** Records that belong to the session and to no step (settings, snapshots, context). */
  context_records: number;
};

/** One agent instance. */
export type AgentDoc = {
  /** Deterministic id. */
  id: string;
  /** The id its source gave it; the file's stem when hidden; the session's id for a main agent; the root's uuid for an in-file side chain. */
  native_id: string;
  /** Kind of agent (`Explore`, …), when known. */
  type?: string | null;
  /** The type is the name of the agent's span, which names no agent. */
  type_inferred: boolean;
  /** Its name, or what it was asked to do. */
  name?: string | null;
  /** The agent that started it; null for a main agent, an internal one, or when nothing says. */
  parent_id?: string | null;
  /** Distance from the root of its tree; 0 at the root. */
  depth: number;
  /** `running`, `completed`, `failed` or `unknown`. */
  status: string;
  /** Run by the client for itself; never has a parent. */
  internal: boolean;
  /** The main agent of a session. */
  main: boolean;
  /** Position among the session's sub-tasks in the order they were asked for, from 1; null for main and internal agents. */
  task_number?: number | null;
  /** How it was started; null when it has no parent or none was found. */
  spawn?: SpawnDoc | null;
  /** Spawns that were considered and not believed; the first of them, if there are many. */
  rivals: SpawnRivalDoc[];
  /** How many spawns had something speak for them and were not chosen. */
  rival_count: number;
  /** The model it was told to use, when its source says. */
  model?: string | null;
  /** The first thing it did. */
  first_step_id?: string | null;
  /** The last thing it did. */
  last_step_id?: string | null;
  /** First moment. */
  started_at?: string | null;
  /** Last moment. */
  ended_at?: string | null;
  /** User messages and model calls. */
  message_count: number;
  /** Sums over its own steps. */
  totals: TotalsDoc;
  /** Sums over its steps and those of every agent below it. */
  subtree_totals: TotalsDoc;
};

/** How an agent was started. */
export type SpawnDoc = {
  /** Native id of the tool call; null where it has none. */
  tool_use_id?: string | null;
  /** The tool call's step. */
  step_id: string;
  /** Why it is believed. */
  rule: string;
  /** 1 for explicit ids; for inferred rules, the share that was right when measured. */
  confidence: number;
  /** The rule guesses. */
  inferred: boolean;
  /** Spawns that had something speak for them and were not chosen. */
  rivals: number;
};

/** A spawn that was considered for an agent and not believed. */
export type SpawnRivalDoc = {
  /** Native id of the tool call; null where it has none. */
  tool_use_id?: string | null;
  /** Why not: `outweighed`, `tied`, `in_the_future`, `out_of_window`, `other_prompt`, `other_type`, `taken_by_id`, `other_record`, `denied`. */
  reason: string;
};

/** Sums. */
export type TotalsDoc = {
  /** All steps. */
  steps: number;
  /** Calls of models. */
  model_calls: number;
  /** Calls of tools. */
  tool_calls: number;
  /** Steps that failed. */
  errors: number;
  /** Tokens, once per API message; null when no source says how many. */
  usage?: UsageDoc | null;
  /** Model calls whose sources do not say how many tokens they took; when not 0, `usage` is a part only. */
  uncounted_calls: number;
  /** US dollars for the calls that have a price; null when no source says how many tokens were used. */
  cost_usd?: number | null;
  /** Calls whose model has no price; when not 0, `cost_usd` is a part only. */
  unpriced_calls: number;
  /** Milliseconds from first to last moment. */
  duration_ms?: number | null;
};

/** One task: from a user input to the last thing it caused. */
export type RunDoc = {
  /** Deterministic id. */
  id: string;
  /** The id its source gave it, with the session it is unique in; null when it was told from user inputs. */
  native_id?: string | null;
  /** The way it came in (`text`, `voice`, …), where its source says. */
  channel?: string | null;
  /** The user input that started it, or its first step. */
  trigger_step_id: string;
  /** `running`, `completed`, `failed` or `unknown`. */
  status: string;
  /** How it ended in its source's word (`aborted`, `canceled`, …), where it says. */
  stated_status?: string | null;
  /** Moment of the input, or as its source says. */
  started_at?: string | null;
  /** Last moment of anything it caused. */
  ended_at?: string | null;
  /** Milliseconds between the two. */
  duration_ms?: number | null;
};

/** What somebody said about a link. */
export type LinkDoc = {
  /** Id of the record that says so. */
  id: string;
  /** `confirm`, `deny`, `add`, or `remove` for what takes back what was said before. */
  action: string;
  /** What relation; see the kinds of edges. */
  kind: string;
  /** The cause as the record names it: a step or agent by its id, ours or its source's. */
  from: string;
  /** The effect as the record names it. */
  to: string;
  /** The step that is the cause; null when it is not there. */
  from_step_id?: string | null;
  /** The step that is the effect; null when it is not there. */
  to_step_id?: string | null;
  /** Who said so. */
  who?: string | null;
  /** When. */
  at?: string | null;
  /** What they noted. */
  note?: string | null;
  /** The rule by which the link was believed when they said it. */
  was_rule?: string | null;
  /** How much it was believed. */
  was_confidence?: number | null;
  /** What became of it: `counts`, `superseded` by something said later, `end_missing`, or `cycle`, as it would make a circle. */
  standing: string;
};

/** One named anomaly. */
export type IssueDoc = {
  /** Stable name; docs/issues.md has them all. */
  code: string;
  /** `error`, `warning` or `info`. */
  severity: string;
  /** How often. */
  count: number;
  /** What it is about, or the code's sentence. */
  detail: string;
  /** The first records it was seen in, at most eight. */
  records: string[];
};

/** Some rows of a session's tree. */
export type TreeWindowDoc = {
  /** The session. */
  session_id: string;
  /** The first row of the window. */
  from: number;
  /** Behind its last row; less than asked for at the end, and `max_tree_rows` behind `from` at most. */
  to: number;
  /** How many rows there are in all. */
  total_rows: number;
  /** How many steps the session has. */
  total_steps: number;
  /** The row of the step that was looked for; null when it is not shown or none was. */
  found_row?: number | null;
  /** The agents around that step, the innermost first: all of them must be open for its row to be shown. */
  found_agents: string[];
  /** The steps above that step up to the root, the nearest first; `max_path_steps` (1,000) at most. */
  found_above: string[];
  /** Steps above it that are not told, by `max_path_steps`. */
  found_above_left_out: number;
  /** The rows. */
  rows: TreeRowDoc[];
};

/** One row. */
export type TreeRowDoc = AgentRowDoc & {
  row: "agent";
} | StepRowDoc & {
  row: "step";
} | HiddenRowDoc & {
  row: "hidden";
};

/** An agent begins; its steps follow unless it is closed. */
export type AgentRowDoc = {
  /** Deterministic id. */
  id: string;
  /** Its type, or that it is the main one. */
  label: string;
  /** Its name, or what it was asked to do. */
  detail: string;
  /** Its steps are not shown. */
  closed: boolean;
  /** Distance from the root of its tree. */
  depth: number;
  /** `running`, `completed`, `failed` or `unknown`. */
  status: string;
  /** Who started it is a guess. */
  inferred: boolean;
  /** Sums over its own steps. */
  totals: TotalsDoc;
  /** Sums over its steps and those of every agent below it. */
  subtree_totals: TotalsDoc;
  /** All tokens of these; null when none were reported. */
  subtree_tokens?: number | null;
};

/** A step. */
export type StepRowDoc = {
  /** Deterministic id. */
  id: string;
  /** Position in the depth-first order of the tree. */
  seq: number;
  /** Kind of step. */
  kind: string;
  /** The tool, the model, or who spoke. */
  label: string;
  /** It failed. */
  is_error: boolean;
  /** What it looks like. */
  look: string;
  /** What it was for, or the first words of it. */
  detail: string;
  /** Milliseconds from the session's first moment to its start. */
  elapsed_ms?: number | null;
  /** Milliseconds it took. */
  duration_ms?: number | null;
  /** All its tokens; null when none were reported. */
  tokens?: number | null;
  /** It has begun and nothing says that it ended. */
  pending: boolean;
  /** What a recorded request was for; null for an agent's work. */
  request?: string | null;
  /** Whose step. */
  agent_id: string;
  /** The run it belongs to. */
  run_id?: string | null;
  /** Depth of its agent. */
  depth: number;
  /** Levels below its agent. */
  indent: number;
  /** When it began. */
  started_at?: string | null;
  /** US dollars; null when it used no tokens or its model has no price. */
  cost_usd?: number | null;
  /** First words of what went wrong. */
  error?: string | null;
  /** Whose step it is is not stated by its records. */
  inferred: boolean;
};

/** Steps that are not shown because of the filter. */
export type HiddenRowDoc = {
  /** How many. */
  count: number;
  /** Depth of their agent. */
  depth: number;
};

/** A session's graph, laid out. */
export type PlacedGraphDoc = {
  /** The session; none for the process behind many runs. */
  session_id?: string | null;
  /** What it is a graph of. */
  title: string;
  /** What a node is: `step`, `model-call`, `agent`, `run`, or `pattern` in a workflow. */
  level: string;
  /** The level that was asked for and has too many nodes, when this is a coarser one; else null. */
  instead_of?: InsteadOfDoc | null;
  /** From left to right. */
  width: number;
  /** From top to bottom. */
  height: number;
  /** Nodes in order of start. */
  nodes: PlacedNodeDoc[];
  /** Edges by target, source and relation. */
  edges: PlacedEdgeDoc[];
  /** Boxes around nodes; outer ones first. */
  groups: PlacedGroupDoc[];
  /** Looks that occur, for a legend. */
  looks: string[];
  /** What became of the steps and edges of the session; null for a workflow. */
  tally?: TallyDoc | null;
  /** Steps of internal agents: what the client asked for itself. They are drawn only with `full`. */
  internal_steps: number;
  /** Those of them that failed. */
  internal_errors: number;
};

/** A level that is not drawn because of its size. */
export type InsteadOfDoc = {
  /** Which. */
  level: string;
  /** Its nodes, more than `max_graph_nodes`. */
  nodes: number;
};

/** A node in its place. */
export type PlacedNodeDoc = {
  /** Stable and unique in the graph. */
  id: string;
  /** What it is called. */
  label: string;
  /** What it was about. */
  detail: string;
  /** A kind of step, `agent`, `run`, or a type of the workflow. */
  kind: string;
  /** Id of the box it lies in. */
  group_id?: string | null;
  /** Ids of the steps it stands for, in order; an agent of a workflow stands for the call that started it. Empty in a process. */
  step_ids: string[];
  /** The source's own ids of those of them that were spans. */
  span_ids: string[];
  /** First moment. */
  started_at?: string | null;
  /** Last moment. */
  ended_at?: string | null;
  /** Milliseconds its steps took together, as far as known; null when nobody says of any. */
  busy_ms?: number | null;
  /** It failed, or something in it did. */
  is_error: boolean;
  /** It has begun and nothing says that it ended. */
  pending: boolean;
  /** Sums over its steps. */
  totals: TotalsDoc;
  /** Where it is. */
  place: RectDoc;
  /** How many ranks lie before it. */
  rank: number;
  /** What it looks like: one of the schema's looks. */
  look: string;
  /** Positions of its steps in the depth-first order of the tree, as `step_ids` lists them. */
  seqs: number[];
  /** Its steps beyond the limit `max_node_steps`, which `step_ids`, `span_ids` and `seqs` leave out; `all_steps` asks for them. */
  steps_left_out: number;
  /** The place of its agent's colour in the schema; null when it is of several types of agents, or of none. */
  colour?: number | null;
  /** The first line, cut to the box. */
  shown_label: string;
  /** The second line, cut to the box; may be empty. */
  shown_detail: string;
  /** How many it stands for, when it is more than one. */
  badge?: string | null;
};

/** A rectangle by its top left corner. */
export type RectDoc = {
  /** Left edge. */
  x: number;
  /** Top edge. */
  y: number;
  /** From left to right. */
  width: number;
  /** From top to bottom. */
  height: number;
};

/** An edge with its way. */
export type PlacedEdgeDoc = {
  /** Id of the cause. */
  from: string;
  /** Id of the effect. */
  to: string;
  /** A kind of edge of the flow; `sequential` for the guess made on demand; `follows` and `enters` in a workflow. */
  relation: string;
  /** How many edges of the flow it stands for. */
  count: number;
  /** What it leads through: the tool of a result, the agent that was started. */
  label: string;
  /** How much it is believed: as much as the weakest part of any way it stands for. */
  confidence: number;
  /** Something in it is a guess. */
  inferred: boolean;
  /** It carries an error. */
  is_error: boolean;
  /** It goes both ways. */
  both_ways: boolean;
  /** Ids of steps it leads through that are no nodes. */
  through: string[];
  /** Corners from the source's border to the target's border; of a curve, its start and three points for every piece. */
  points: PointDoc[];
  /** The way is drawn as cubic curves. */
  is_curve: boolean;
  /** It leads against the direction of the drawing. */
  is_reversed: boolean;
  /** It starts an agent. */
  is_spawn: boolean;
  /** The link of the session it stands for, as FROM..TO of its steps; of several, the first. Null in a workflow. */
  link?: string | null;
  /** Words on it, cut; may be empty. */
  shown_label: string;
  /** Where they are. */
  label_place?: RectDoc | null;
};

/** A place; x grows to the right, y grows downwards. */
export type PointDoc = {
  /** From the left. */
  x: number;
  /** From the top. */
  y: number;
};

/** A box around nodes in its place. */
export type PlacedGroupDoc = {
  /** Stable and unique in the graph. */
  id: string;
  /** What it is called. */
  label: string;
  /** Id of the box it lies in. */
  parent_id?: string | null;
  /** Where it is. */
  place: RectDoc;
  /** The place of its agent's colour in the schema; null when it is no agent's. */
  colour?: number | null;
  /** Its name, cut. */
  shown_label: string;
};

/** What became of the steps and edges of a session. All shares together are the session. */
export type TallyDoc = {
  /** Steps that are in a node. */
  shown: ShareDoc;
  /** Steps that edges lead through or that the level leaves out. */
  contracted: ShareDoc;
  /** Steps a filter left out. */
  filtered: ShareDoc;
  /** Edges of the flow between steps of different nodes; null in a workflow, like the next four: its edges are not those of the flow. */
  shown_edges?: number | null;
  /** Edges of the flow between steps of one node. */
  inner_edges?: number | null;
  /** Edges of the flow to or from steps that are in no node. */
  contracted_edges?: number | null;
  /** Edges of the flow that a filter left out. */
  filtered_edges?: number | null;
  /** Edges of the flow that tell only of order, where something else of its agent leads to a step. */
  order_edges?: number | null;
  /** So many edges were followed to find what leads through steps that are no nodes, and then no more: some may be missing. */
  limit_reached?: number | null;
  /** Transitions of a workflow that were not counted, because there are too many (`MAX_TRANSITIONS`). */
  transitions_left_out: number;
};

/** Sums over steps that are drawn alike. */
export type ShareDoc = {
  /** Steps, tokens, money, errors. */
  totals: TotalsDoc;
  /** Milliseconds they took together, as far as known; null when nobody says of any. */
  busy_ms?: number | null;
};

/** Part of a timeline. Moments are nanoseconds since `first_at`. */
export type TimelineDoc = {
  /** The session. */
  session_id: string;
  /** The first moment of any step; null when no step has a time. */
  first_at?: string | null;
  /** From the first moment to the last. */
  span_ns: number;
  /** Where the window begins. */
  from_ns: number;
  /** Where it ends. */
  to_ns: number;
  /** Pixels it is told for. */
  px: number;
  /** All lanes, from top to bottom. */
  lanes: LaneDoc[];
  /** Bars that touch the window, by lane, row and begin. */
  bars: BarDoc[];
  /** Relations that touch the window and can be told apart, all but mere order; what matters more comes first. */
  arrows: TimelineArrowDoc[];
  /** Relations that touch the window and whose ends cannot be told apart in it. */
  arrows_too_short: number;
  /** Relations that touch the window and are not told, by the limit `max_arrows`. */
  arrows_left_out: number;
  /** Long stretches in which nothing happened, of the whole timeline. */
  idle: IdleDoc[];
  /** Steps that have a bar somewhere in the timeline. */
  total_bars: number;
  /** Steps whose bars touch the window, also those told as one. */
  bars_in_window: number;
  /** Steps without a time, which have no bar. */
  untimed_steps: number;
  /** Steps with a time of internal agents: what the client asked for itself. They have a bar only with `full`. */
  internal_steps: number;
  /** Those of them that failed. */
  internal_errors: number;
  /** Until when steps that run may be drawn as going on, unless something else is heard; null when none runs. */
  grows_until_ns?: number | null;
};

/** Agents that share a place because they do not overlap. */
export type LaneDoc = {
  /** Who, in order of begin. */
  agents: LaneAgentDoc[];
  /** How many lanes of parents there are above it. */
  depth: number;
  /** How many rows of bars it has. */
  rows: number;
  /** Steps of its agents that failed. */
  errors: number;
};

/** An agent of a lane. */
export type LaneAgentDoc = {
  /** Deterministic id. */
  id: string;
  /** Its type, or that it is the main one. */
  label: string;
  /** Its name, or what it was asked to do. */
  detail: string;
  /** `running`, `completed`, `failed` or `unknown`. */
  status: string;
  /** The place of its type's colour in the schema. */
  colour: number;
};

/** A step, or several that are too narrow to be told apart. */
export type BarDoc = {
  /** Its lane. */
  lane: number;
  /** Its row in the lane. */
  row: number;
  /** When it began. */
  from_ns: number;
  /** When it ended. */
  to_ns: number;
  /** Which of the agents of its lane. */
  agent: number;
  /** The step; the first of several. */
  step_id: string;
  /** Its position in the depth-first order of the tree; of several, the least. */
  seq: number;
  /** Of several, the greatest position. */
  last_seq: number;
  /** How many steps it stands for. */
  count: number;
  /** How many of them failed. */
  errors: number;
  /** What it looks like; that of the first of several. */
  look: string;
  /** What it is called; empty for several. */
  label: string;
  /** What it was about; empty for several. */
  detail: string;
  /** What a recorded request was for; null for an agent's work and for several. */
  request?: string | null;
  /** It has begun and nothing says that it ended. */
  pending: boolean;
  /** It is at work as far as anybody knows: it goes on until now. */
  running: boolean;
};

/** A relation between steps, or several that cannot be told apart. */
export type TimelineArrowDoc = {
  /** Step it leaves; of several, that of the first. */
  from_step_id: string;
  /** Step it reaches; of several, that of the first. */
  to_step_id: string;
  /** Positions of the two steps in the depth-first order of the tree. */
  seqs: number[];
  /** A kind of edge. */
  relation: string;
  /** Lane, row and moment it leaves. */
  from: ArrowEndDoc;
  /** Lane, row and moment it reaches. */
  to: ArrowEndDoc;
  /** How many relations it stands for. */
  count: number;
  /** How much it is believed. */
  confidence: number;
  /** A guess. */
  inferred: boolean;
  /** It carries an error. */
  is_error: boolean;
};

/** An end of an arrow. */
export type ArrowEndDoc = {
  /** Lane of its bar. */
  lane: number;
  /** Row of its bar. */
  row: number;
  /** Moment. */
  at_ns: number;
};

/** A stretch in which nothing happened. */
export type IdleDoc = {
  /** From when. */
  from_ns: number;
  /** To when. */
  to_ns: number;
  /** How long it is drawn when it is folded: the same as a moment of work that took so long. */
  folded_ns: number;
  /** It ended when a person said something. */
  waits_for_person: boolean;
};

/** What began in a range of time. */
export type RangeDoc = {
  /** The session. */
  session_id: string;
  /** From when, in milliseconds since the session's first moment. */
  from_ms: number;
  /** To when, the session's end at most; what began at this very moment is in it. */
  to_ms: number;
  /** Sums over the steps that began in it. */
  totals: TotalsDoc;
  /** All tokens of these; null when no call says how many it took. */
  tokens?: number | null;
  /** Agents that had a step in it. */
  agents: number;
  /** A query that finds these steps. */
  query: string;
};

/** What led to some steps and what they led to. */
export type ChainDoc = {
  /** The session. */
  session_id: string;
  /** Positions of the steps themselves. */
  of: number[];
  /** What led to them: stretches of positions, the first and the last of each. */
  causes: number[][];
  /** What they led to, likewise. */
  effects: number[][];
  /** How many steps led to them. */
  cause_count: number;
  /** How many steps they led to. */
  effect_count: number;
};

/** Some runs of a session. */
export type RunsDoc = {
  /** The session. */
  session_id: string;
  /** The first run of the window, from 0. */
  from: number;
  /** Behind its last run; `max_runs` behind `from` at most. */
  to: number;
  /** How many runs there are in all; steps of no run are a last one. */
  total_runs: number;
  /** The runs. */
  runs: RunLaneDoc[];
};

/** A run: from what was asked to the last thing it led to. */
export type RunLaneDoc = {
  /** Deterministic id; null for the steps that belong to no run. */
  id?: string | null;
  /** Its number from 1, as in `run:2`; null for the steps that belong to no run. */
  number?: number | null;
  /** First words of what was asked. */
  title?: string | null;
  /** The way it came in, where its source says. */
  channel?: string | null;
  /** `running`, `completed`, `failed` or `unknown`. */
  status: string;
  /** The step that started it. */
  trigger_step_id?: string | null;
  /** First moment. */
  started_at?: string | null;
  /** Milliseconds from the session's first moment to its start. */
  elapsed_ms?: number | null;
  /** Milliseconds to the last moment of anything it caused. */
  duration_ms?: number | null;
  /** How its time was spent; null unless asked for. */
  time?: ScopeDoc | null;
  /** Sums over its steps. */
  totals: TotalsDoc;
  /** All tokens of its steps; null when none were reported. */
  tokens?: number | null;
  /** A row for each of its agents, in order of appearance. */
  lanes: RunAgentDoc[];
  /** How many columns there are. */
  columns: number;
  /** Its steps in order, the first of them. */
  steps: RunStepDoc[];
  /** Steps that are not here: by the number asked for and `max_run_steps`. */
  steps_left_out: number;
  /** System and hook steps and injected messages that are not here, unless asked for. */
  asides_left_out: number;
  /** Relations between steps of different rows. */
  arrows: RunArrowDoc[];
};

/** Sums over a scope. */
export type ScopeDoc = {
  /** `session`, `run` or `agent` (an agent with everything it started). */
  scope: string;
  /** Id of the session, run or agent. */
  id: string;
  /** The session's title, the input of the run, or the agent's name or type. */
  title?: string | null;
  /** First moment of its steps. */
  started_at?: string | null;
  /** Milliseconds from there to the last moment of its steps. */
  wall_ms: number;
  /** Milliseconds of the path in which a step was at work. */
  path_ms: number;
  /** Milliseconds of the path in which none was. Together with `path_ms`, the wall clock exactly. */
  gaps_ms: number;
  /** What the wall clock was spent on. */
  split: SplitDoc;
  /** How much went on at once. */
  parallelism: ParallelismDoc;
  /** Steps with a time. */
  steps_timed: number;
  /** Steps without any time; they are not on the path. */
  steps_untimed: number;
  /** Milliseconds of the path in steps whose beginning is estimated or whose end is missing. */
  estimated_ms: number;
  /** Links along the path that are inferred; joints among them. */
  inferred_links: number;
  /** Where the path would break off or only wait, and goes on from what was at work last. */
  joints: number;
  /** Milliseconds of the path in steps that nothing says it waited for; they were at work then. */
  unexplained_ms: number;
};

/** Milliseconds of the critical path by what they were spent on. They add up to the wall clock. */
export type SplitDoc = {
  /** A model worked. */
  model_ms: number;
  /** A tool worked. */
  tool_ms: number;
  /** A person was waited for. */
  human_ms: number;
  /** A failed attempt that was made again, and the pause before the next one. */
  retry_ms: number;
  /** Nothing that is recorded happened. */
  idle_ms: number;
  /** Work of another sort. */
  other_ms: number;
};

/** How much went on at once. Waiting, for a person too, is not work. */
export type ParallelismDoc = {
  /** Milliseconds of work, those of parallel steps added up. */
  work_ms: number;
  /** Milliseconds in which at least one step was at work. */
  busy_ms: number;
  /** Steps at work at once, on average while any was. */
  average: number;
  /** Steps at work at once, at most. */
  peak: number;
};

/** The row of an agent. */
export type RunAgentDoc = {
  /** Deterministic id. */
  id: string;
  /** Its type, or that it is the main one. */
  label: string;
  /** Its name, or what it was asked to do. */
  detail: string;
  /** Distance from the root of its tree. */
  depth: number;
};

/** A step in its place. */
export type RunStepDoc = {
  /** Deterministic id. */
  id: string;
  /** Position in the depth-first order of the tree. */
  seq: number;
  /** Kind of step. */
  kind: string;
  /** The tool, the model, or who spoke. */
  label: string;
  /** It failed. */
  is_error: boolean;
  /** What it looks like. */
  look: string;
  /** What it was for, or the first words of it. */
  detail: string;
  /** Milliseconds from the session's first moment to its start. */
  elapsed_ms?: number | null;
  /** Milliseconds it took. */
  duration_ms?: number | null;
  /** All its tokens; null when none were reported. */
  tokens?: number | null;
  /** It has begun and nothing says that it ended. */
  pending: boolean;
  /** What a recorded request was for; null for an agent's work. */
  request?: string | null;
  /** Row, from 0. */
  lane: number;
  /** Column, from 0: behind the step before it in its row, and behind everything of the run that led to it. */
  column: number;
  /** How many records witness it. */
  records: number;
};

/** A relation between steps of two rows. */
export type RunArrowDoc = {
  /** Position in `steps` of its source. */
  from: number;
  /** Position in `steps` of its target. */
  to: number;
  /** Kind of relation. */
  kind: string;
  /** The rule guesses. */
  inferred: boolean;
};

/** One step whole. */
export type StepDetailDoc = {
  /** The session. */
  session_id: string;
  /** The tool, the model, or who spoke. */
  label: string;
  /** What it was for, or the first words of it. */
  detail: string;
  /** US dollars; null when it used no tokens or its model has no price. */
  cost_usd?: number | null;
  /** Its tokens and what they cost, bucket by bucket; empty when none were reported. */
  buckets: BucketDoc[];
  /** Why these tokens are counted, or why none are, in sentences. */
  why_counted: string[];
  /** What is known of it. */
  step: StepDoc;
  /** Whose step. */
  agent?: AgentBriefDoc | null;
  /** The step above it in the tree. */
  parent?: StepBriefDoc | null;
  /** The steps directly below it in the tree, the first of them. */
  children: StepBriefDoc[];
  /** How many steps are directly below it. */
  child_count: number;
  /** What led to it. */
  edges_in: StepEdgeDoc[];
  /** What it led to. */
  edges_out: StepEdgeDoc[];
  /** Agents it started, with the starts that were considered and not believed. */
  started: StartedDoc[];
  /** The records that say it happened, as they were written. */
  records: RecordDoc[];
  /** What people said about its links that is no edge now: denied, or not possible. */
  said: SaidDoc[];
  /** The same in sentences. */
  explanation: Explanation;
};

/** Tokens of one sort. */
export type BucketDoc = {
  /** `input`, `cache_read`, `cache_write`, `output` or `reasoning`. */
  name: string;
  /** How many. */
  tokens: number;
  /** US dollars, of the calls whose model has a price; null when none has. */
  cost_usd?: number | null;
};

/** An agent in few words. */
export type AgentBriefDoc = {
  /** Deterministic id. */
  id: string;
  /** Its type, or that it is the main one. */
  label: string;
  /** Its name, or what it was asked to do. */
  detail: string;
};

/** A step in few words. */
export type StepBriefDoc = {
  /** Deterministic id. */
  id: string;
  /** Position in the depth-first order of the tree. */
  seq: number;
  /** Kind of step. */
  kind: string;
  /** The tool, the model, or who spoke. */
  label: string;
  /** It failed. */
  is_error: boolean;
};

/** A relation, seen from one of its ends. */
export type StepEdgeDoc = {
  /** Step that caused. */
  from: string;
  /** Step that followed. */
  to: string;
  /** `calls`, `tool_result`, `subagent_spawn`, `subagent_return`, `sequence`, `continuation`, `depends_on`, `span_parent`, `span_link`, `content_reuse`. */
  kind: string;
  /** Why it is believed. */
  rule: string;
  /** 1 for explicit ids and order; less for inferred rules. */
  confidence: number;
  /** The rule guesses. */
  inferred: boolean;
  /** Native id of the tool call it runs over. */
  tool_use_id?: string | null;
  /** It carries an error. */
  is_error: boolean;
  /** Ids of the records that show it. */
  evidence: string[];
  /** Why such a relation is believed, in words. */
  rule_sentence: string;
  /** Its other end. */
  other?: StepBriefDoc | null;
  /** What somebody said of it. */
  said?: SaidDoc | null;
  /** Somebody may confirm or deny it. */
  can_say: boolean;
  /** Of the start of an agent: starts that were considered for it and not believed; the first of them, if there are many. */
  rivals: RivalDoc[];
  /** How many starts had something speak for them and were not chosen. */
  rival_count: number;
};

/** What somebody said about a link. */
export type SaidDoc = {
  /** Id of the record that says so. */
  id: string;
  /** `confirm`, `deny`, `add`, or `remove` for what takes back what was said before. */
  action: string;
  /** What relation; see the kinds of edges. */
  kind: string;
  /** The cause as the record names it: a step or agent by its id, ours or its source's. */
  from: string;
  /** The effect as the record names it. */
  to: string;
  /** The step that is the cause; null when it is not there. */
  from_step_id?: string | null;
  /** The step that is the effect; null when it is not there. */
  to_step_id?: string | null;
  /** Who said so. */
  who?: string | null;
  /** When. */
  at?: string | null;
  /** What they noted. */
  note?: string | null;
  /** The rule by which the link was believed when they said it. */
  was_rule?: string | null;
  /** How much it was believed. */
  was_confidence?: number | null;
  /** What became of it: `counts`, `superseded` by something said later, `end_missing`, or `cycle`, as it would make a circle. */
  standing: string;
  /** The cause, if it is there. */
  from_step?: StepBriefDoc | null;
  /** The effect, if it is there; of an agent, its first step. */
  to_step?: StepBriefDoc | null;
  /** It counts, and can be taken back. */
  can_remove: boolean;
};

/** A start that was considered for an agent and not believed. */
export type RivalDoc = {
  /** Native id of the call; null where it has none. */
  tool_use_id?: string | null;
  /** The call, where it is a step of the session. */
  step_id?: string | null;
  /** Why not. */
  reason: string;
  /** Why not, in words. */
  sentence: string;
};

/** An agent that a step started. */
export type StartedDoc = {
  /** The agent. */
  agent: AgentBriefDoc;
  /** Why it is believed. */
  rule: string;
  /** Why such a start is believed, in words. */
  rule_sentence: string;
  /** 1 for explicit ids; for inferred rules, the share that was right when measured. */
  confidence: number;
  /** The rule guesses. */
  inferred: boolean;
  /** Starts that were considered for it and not believed; the first of them, if there are many. */
  rivals: RivalDoc[];
  /** How many starts had something speak for them and were not chosen. */
  rival_count: number;
};

/** A record as it was written. */
export type RecordDoc = {
  /** Its id. */
  id: string;
  /** The format that read it. */
  format: string;
  /** The stream it came from. */
  stream: string;
  /** Its position in the stream, from 0. */
  ordinal: number;
  /** `utf-8`, `base64`, or `none` when the bytes cannot be had. */
  encoding: string;
  /** The bytes in that encoding, or the first of them; when texts in it are cut, the rest of it, written anew. */
  content: string;
  /** How many bytes it has. */
  bytes: number;
  /** How many of them are not told here, by the limits `max_record_bytes_shown` and `max_picture_bytes_shown`. */
  bytes_left_out: number;
  /** Texts in it that are cut, so that the rest of it could be told. */
  texts_cut: number;
  /** What the bytes say, as JSON, when they are no text themselves: spans in protobuf. Null when that is too long to be told. */
  readable?: string | null;
};

/** An explanation: headed lists of sentences, the same for people and programs. */
export type Explanation = {
  /** What is explained: `agent`, `step` or `edge`. */
  subject: string;
  /** In one line. */
  title: string;
  /** The steps that an edge leads from and to; empty for an agent or a step. */
  ends: EndDoc[];
  /** Parts, in order. */
  sections: Section[];
};

/** A step at an end of a link: what it is, whose, and when. */
export type EndDoc = {
  /** Deterministic id. */
  id: string;
  /** Position in the depth-first order of the tree. */
  seq: number;
  /** Kind of step. */
  kind: string;
  /** The tool, the model, or who spoke. */
  label: string;
  /** It failed. */
  is_error: boolean;
  /** What it looks like. */
  look: string;
  /** What it was for, or the first words of it. */
  detail: string;
  /** Milliseconds from the session's first moment to its start. */
  elapsed_ms?: number | null;
  /** Milliseconds it took. */
  duration_ms?: number | null;
  /** All its tokens; null when none were reported. */
  tokens?: number | null;
  /** It has begun and nothing says that it ended. */
  pending: boolean;
  /** What a recorded request was for; null for an agent's work. */
  request?: string | null;
  /** Whose step. */
  agent?: AgentBriefDoc | null;
  /** When it began; null when nobody knows. */
  started_at?: string | null;
};

/** One part of an explanation. */
export type Section = {
  /** What the part answers. */
  heading: string;
  /** Sentences. */
  lines: string[];
};

/** The values that a session has for fields. */
export type FieldValuesDoc = {
  /** Those fields whose values are names, in the order of the table of fields. */
  fields: FieldValues[];
  /** Agents with steps, in the order of the session; at most `max_field_values` (200). */
  agents: AgentPlaceDoc[];
  /** How many such agents there are in all. */
  different_agents: number;
};

/** The values of one field. */
export type FieldValues = {
  /** The field. */
  field: string;
  /** Most steps first; at most `max_field_values` (200). */
  values: FieldValue[];
  /** How many values there are in all. */
  different: number;
};

/** A value that occurs. */
export type FieldValue = {
  /** As it is written. */
  value: string;
  /** Steps that have it. */
  steps: number;
};

/** An agent, and where it begins. */
export type AgentPlaceDoc = {
  /** Its id. */
  id: string;
  /** By what `agent:` knows it; null when its type is not known. */
  type?: string | null;
  /** Its own name or description. */
  name?: string | null;
  /** Its first step. */
  first_step: string;
  /** Its steps. */
  steps: number;
  /** Those of them that failed. */
  errors: number;
};

/** The numbers of a session, or of its part up to a moment. */
export type NumbersDoc = {
  /** The session. */
  session_id: string;
  /** Only what had begun so many milliseconds after the first moment is in the sums and tables; null for all of it. */
  until_ms?: number | null;
  /** Sums. */
  totals: TotalsDoc;
  /** All tokens; null when no call says how many it took. */
  tokens?: number | null;
  /** Agents that had begun. */
  agents: number;
  /** Runs that had begun. */
  runs: number;
  /** Tokens and what they cost, bucket by bucket; buckets never overlap. Empty when no call says how many it took. */
  buckets: BucketDoc[];
  /** Per type of agent. */
  agent_types: TableDoc;
  /** Per tool. */
  tools: TableDoc;
  /** Per model. */
  models: TableDoc;
  /** How large the contexts grew. */
  context: ContextDoc;
  /** What is missing, inferred or estimated, of the whole session. */
  completeness: CompletenessDoc;
};

/** A table. */
export type TableDoc = {
  /** Most calls or agents first. */
  rows: NumberRowDoc[];
  /** Rows that are left out, by `max_number_rows`. */
  rows_left_out: number;
};

/** One line of a table. */
export type NumberRowDoc = {
  /** Type of agent, tool or model. */
  name: string;
  /** A query that finds its steps; null when none does. */
  query?: string | null;
  /** Agents or calls. */
  count: number;
  /** Steps that failed. */
  errors: number;
  /** Milliseconds of all whose length is known; null when none is. */
  total_ms?: number | null;
  /** Half took at most this, by nearest rank. */
  p50_ms?: number | null;
  /** 90 of 100 took at most this. */
  p90_ms?: number | null;
  /** 99 of 100 took at most this. */
  p99_ms?: number | null;
  /** The longest. */
  max_ms?: number | null;
  /** All tokens; null when none were reported. */
  tokens?: number | null;
  /** US dollars; null when nothing says how many tokens it took. */
  cost_usd?: number | null;
  /** Calls of models without a price, which the cost leaves out. */
  unpriced_calls: number;
};

/** Contexts of a session. */
export type ContextDoc = {
  /** Agents by the tokens of their fullest call, the fullest first. */
  agents: AgentContextDoc[];
  /** Agents with known contexts that are left out, by `max_context_agents`. */
  agents_left_out: number;
};

/** The context of one agent. */
export type AgentContextDoc = {
  /** The agent. */
  agent_id: string;
  /** Its type, or that it is the main one. */
  label: string;
  /** Its name, or what it was asked to do. */
  detail: string;
  /** Model calls that say what they were given. */
  calls: number;
  /** Tokens of the fullest call. */
  peak_tokens: number;
  /** Calls in order; with more than `max_context_points`, neighbours are one point: the fullest of them. */
  points: ContextPointDoc[];
  /** Where the context was compacted, in order. */
  compactions: CompactionDoc[];
  /** Compactions that are left out, by `max_context_points`. */
  compactions_left_out: number;
};

/** A model call, or the fullest of some that follow each other. */
export type ContextPointDoc = {
  /** The call. */
  step_id: string;
  /** Which call of its agent that says so, from 1. */
  call: number;
  /** Milliseconds from the session's first moment; null without a time. */
  at_ms?: number | null;
  /** Tokens it was given, from a cache or not. */
  tokens: number;
  /** Calls the point stands for. */
  calls: number;
};

/** A compaction. */
export type CompactionDoc = {
  /** The step. */
  step_id: string;
  /** Calls of the agent before it. */
  after_call: number;
  /** Tokens of the call before it; null when none says. */
  before_tokens?: number | null;
  /** Tokens of the call after it; null when none says. */
  after_tokens?: number | null;
};

/** What a session's picture rests on. */
export type CompletenessDoc = {
  /** Things that are missing. */
  missing: number;
  /** Things that are inferred. */
  inferred: number;
  /** Things that are estimated. */
  estimated: number;
  /** What exactly, the weightiest first. */
  parts: GapDoc[];
};

/** One sort of gap. */
export type GapDoc = {
  /** `missing`, `inferred`, `estimated`, or `noted` for what is worth knowing and changes nothing. */
  sort: string;
  /** The name of the issue; null when it is none. */
  code?: string | null;
  /** How many. */
  count: number;
  /** In few words. */
  label: string;
  /** In a sentence. */
  sentence: string;
  /** A query that finds the steps; null when none does. */
  query?: string | null;
};

/** All numbers of some sessions. */
export type MetricsDoc = {
  /** Always `unspool.metrics/1`. */
  schema: string;
  /** Sessions, oldest first. */
  sessions: SessionMetricsDoc[];
};

/** All numbers of one session. */
export type SessionMetricsDoc = {
  /** Deterministic id. */
  id: string;
  /** The ids its sources gave it. */
  native_ids: string[];
  /** Title, or first prompt. */
  title?: string | null;
  /** The graph as a whole. */
  graph: GraphMetricsDoc;
  /** The session's time. */
  session: ScopeDoc;
  /** Each run's time. */
  runs: ScopeDoc[];
  /** Each agent. */
  agents: AgentMetricsDoc[];
  /** Agents of one type together. */
  agent_types: AgentTypeDoc[];
  /** Failed steps. */
  failures: FailureListDoc;
  /** Each step, in order of `seq`. */
  nodes: NodeMetricsDoc[];
};

/** The graph as a whole. */
export type GraphMetricsDoc = {
  /** Steps. */
  nodes: number;
  /** Edges of all kinds. */
  edges: number;
  /** Edges whose rule guesses. */
  inferred_edges: number;
  /** Edges by kind. */
  edges_by_kind: EdgeCountDoc[];
  /** Edges on the longest chain of causal edges; those of mere order do not count. */
  depth: number;
  /** Steps on the longest way from a root of the timeline tree to a leaf. */
  tree_depth: number;
  /** Depth of the deepest agent; 0 when no agent was started. */
  agent_depth: number;
  /** Children of a step in the timeline tree, on average over steps that have any. */
  branching_factor: number;
  /** Most children of one step. */
  max_children: number;
  /** Agents that were started by a step. */
  spawns: number;
  /** How many of these links are inferred. */
  inferred_spawns: number;
  /** Tool calls whose result a model call received. */
  tool_dependencies: number;
  /** Steps without a parent in the timeline tree. */
  roots: number;
  /** Steps of which it was counted what they lead to. Less than `nodes` only when counting was given up (`MAX_REACH_WORK`). */
  nodes_with_reach: number;
};

/** Edges of one kind. */
export type EdgeCountDoc = {
  /** The kind. */
  kind: string;
  /** How many. */
  count: number;
  /** How many of them are inferred. */
  inferred: number;
};

/** One agent. */
export type AgentMetricsDoc = {
  /** The agent. */
  id: string;
  /** `main`, `(internal)`, its type, or `(type unknown)`. */
  agent_type: string;
  /** Agents it started itself. */
  spawned: number;
  /** Milliseconds from its first moment to its last. */
  lifetime_ms?: number | null;
  /** Its steps. */
  steps: number;
  /** Its steps that failed. */
  errors: number;
  /** Its model and tool calls. */
  calls: number;
  /** How many of these failed. */
  failed_calls: number;
  /** As a part of all of them; null without any. */
  error_rate?: number | null;
  /** Its failures that led to a failure of another agent. Partly inferred, as the chains of failures are. */
  errors_propagated: number;
  /** The tools it called, most calls first. */
  tools: ToolUseDoc[];
};

/** Calls of one tool. */
export type ToolUseDoc = {
  /** The tool. */
  name: string;
  /** Calls. */
  calls: number;
  /** Calls that failed. */
  errors: number;
  /** Milliseconds of all calls whose duration is known; null when none is. */
  total_ms?: number | null;
};

/** Agents of one type together. */
export type AgentTypeDoc = {
  /** `main`, `(internal)`, the type, or `(type unknown)`. Sub-agents of a type that is called so have a row of their own. */
  agent_type: string;
  /** How many. */
  agents: number;
  /** As a part of all sub-agents; 0 for main and internal ones. */
  spawn_share: number;
  /** How many were started per hour of the session's wall clock; null when it has none. */
  spawns_per_hour?: number | null;
  /** Their lifetimes, by nearest rank; null without any. */
  lifetimes?: DurationsDoc | null;
  /** Failed model and tool calls as a part of all of them; null without any. */
  error_rate?: number | null;
  /** Failed steps. */
  errors: number;
  /** Failures that led to a failure of another agent. */
  errors_propagated: number;
  /** The tools they called, most calls first. */
  tools: ToolUseDoc[];
};

/** How long things took. */
export type DurationsDoc = {
  /** How many durations are known. */
  known: number;
  /** Their sum. */
  total_ms: number;
  /** Half took at most this. */
  p50_ms: number;
  /** 95 of 100 took at most this. */
  p95_ms: number;
  /** The longest. */
  max_ms: number;
};

/** All failures of a session. */
export type FailureListDoc = {
  /** Failed steps, in order of `seq`. */
  failures: FailureDoc[];
  /** How many of them were overcome. */
  overcome: number;
  /** How many ended a run: those after which nothing in it worked. */
  ended_run: number;
  /** How many runs those ended. */
  runs_ended: number;
};

/** One failed step. */
export type FailureDoc = {
  /** The step. */
  step_id: string;
  /** Its kind. */
  kind: string;
  /** Its tool, model or other name. */
  name?: string | null;
  /** Its agent. */
  agent_id: string;
  /** First words of what went wrong, where its source says. */
  error?: string | null;
  /** `retried` (the same was done again and worked), `worked_around` (the agent went on with something else), `failed_again` (the same was tried again and failed, and nothing the agent did worked any more: see the last try), `ended_agent` (nothing the agent did after it worked; whoever started the agent went on), `run_completed` (nothing worked after it, and the run completed all the same, as with a hook at its end), `ended_run` (nothing in the run worked after it). */
  outcome: string;
  /** The last try of the same: it worked for `retried`, and failed for `failed_again`. */
  retried_by?: string | null;
  /** A person refused it, as its source says: it did not fail by itself. */
  refused: boolean;
  /** From this failure back to the first one it came from, this one not included. Empty when it is a first one. */
  caused_by: CauseDoc[];
  /** How many failures lie before those of `caused_by`: no more than 10 are told (`MAX_CHAIN`); each of them is a failure with causes of its own. */
  causes_left_out: number;
  /** The first failure of the chain; null when this is a first one. */
  first_cause?: string | null;
  /** Steps that directly received what failed. */
  received_by: string[];
  /** Steps it leads to along causal edges, those of mere order not counted, and not what the failed step had asked for, started or enclosed before; null when there are too many edges to count. */
  touched?: number | null;
  /** These steps, nearest first; null where they are only counted, as in `unspool metrics`. */
  touched_ids?: string[] | null;
};

/** An earlier failure that led to a later one. */
export type CauseDoc = {
  /** The earlier failed step. */
  step_id: string;
  /** `edge`: a causal edge leads from it. `agent`: it ended the agent that the later one had started. `answer`: a model was told of it and then asked for the later one; that this is a cause is inferred. */
  link: string;
  /** Whether the link is inferred. */
  inferred: boolean;
};

/** One step. */
export type NodeMetricsDoc = {
  /** The step. */
  id: string;
  /** Its kind. */
  kind: string;
  /** Its tool, model or other name. */
  name?: string | null;
  /** Edges that lead to it. */
  in_degree: number;
  /** Edges that lead from it. */
  out_degree: number;
  /** Steps directly below it in the timeline tree. */
  children: number;
  /** Steps below it in the timeline tree, at any depth. Exact. */
  descendants: number;
  /** Agents started by it or below it. */
  agents_below: number;
  /** Steps it leads to along causal edges, those of mere order not counted. Exact; null when counting was given up. */
  reaches?: number | null;
  /** Milliseconds it took itself. */
  own_ms?: number | null;
  /** Milliseconds from its beginning to the last end of anything below it in the timeline tree. */
  inclusive_ms?: number | null;
  /** Its beginning is estimated or its end is missing. */
  estimated: boolean;
  /** Its end is on the critical path of the session. */
  on_critical_path: boolean;
  /** Milliseconds by which it could end later without making the session longer; null without a time. */
  slack_ms?: number | null;
};

/** All paths that were asked for. */
export type PathDoc = {
  /** Always `unspool.path/1`. */
  schema: string;
  /** Sessions, oldest first. */
  sessions: SessionPathDoc[];
};

/** The critical path of a session, or of a part of it. */
export type SessionPathDoc = {
  /** Deterministic id. */
  id: string;
  /** The ids its sources gave it. */
  native_ids: string[];
  /** Title, or first prompt. */
  title?: string | null;
  /** What was asked for. */
  path: ScopePathDoc;
  /** Every run of the session in short. */
  runs: ScopeDoc[];
};

/** A scope with its path and the slack of every step. */
export type ScopePathDoc = {
  /** `session`, `run` or `agent` (an agent with everything it started). */
  scope: string;
  /** Id of the session, run or agent. */
  id: string;
  /** The session's title, the input of the run, or the agent's name or type. */
  title?: string | null;
  /** First moment of its steps. */
  started_at?: string | null;
  /** Milliseconds from there to the last moment of its steps. */
  wall_ms: number;
  /** Milliseconds of the path in which a step was at work. */
  path_ms: number;
  /** Milliseconds of the path in which none was. Together with `path_ms`, the wall clock exactly. */
  gaps_ms: number;
  /** What the wall clock was spent on. */
  split: SplitDoc;
  /** How much went on at once. */
  parallelism: ParallelismDoc;
  /** Steps with a time. */
  steps_timed: number;
  /** Steps without any time; they are not on the path. */
  steps_untimed: number;
  /** Milliseconds of the path in steps whose beginning is estimated or whose end is missing. */
  estimated_ms: number;
  /** Links along the path that are inferred; joints among them. */
  inferred_links: number;
  /** Where the path would break off or only wait, and goes on from what was at work last. */
  joints: number;
  /** Milliseconds of the path in steps that nothing says it waited for; they were at work then. */
  unexplained_ms: number;
  /** Edges of the session that contradict the clock and were not used. */
  unused_edges: number;
  /** Agents of the session that the path is without; null when there are none, or a part was asked for. */
  left_out?: LeftOutDoc | null;
  /** The path: what the wall clock was spent on, from the first moment to the last, without holes. */
  segments: SegmentDoc[];
  /** Steps with a time, in order of `seq`. */
  steps: StepSlackDoc[];
  /** The scope with other durations, when that was asked for. */
  what_if?: WhatIfDoc | null;
};

/** Agents that are not on the path. */
export type LeftOutDoc = {
  /** Agents that the client runs for itself. */
  internal_agents: number;
  /** Milliseconds from the first moment of the session to the last, with these agents. */
  wall_with_them_ms: number;
};

/** One piece of the path. */
export type SegmentDoc = {
  /** Milliseconds since the scope's first moment. */
  at_ms: number;
  /** How long. */
  ms: number;
  /** What it was spent on: `model`, `tool`, `human`, `retry`, `idle` or `other`. */
  class: string;
  /** The step at work; null for a gap. */
  step_id?: string | null;
  /** The step that a gap was before; null otherwise. */
  before_step_id?: string | null;
  /** Kind of the step at work, or of the one after the gap. */
  kind: string;
  /** Its tool, model or other name. */
  name?: string | null;
  /** Its first words, or what it was given. */
  preview?: string | null;
  /** Its agent. */
  agent_id: string;
  /** Type of its agent, or `agent` when it is not known; null for a main agent. */
  agent?: string | null;
  /** The step's beginning is estimated or its end is missing. */
  estimated: boolean;
  /** That this waited for what is before it on the path is inferred. */
  inferred: boolean;
  /** Nothing says why the path leads here: it is what was at work then, or the gap after what was at work last. */
  unexplained: boolean;
};

/** How much room a step has. */
export type StepSlackDoc = {
  /** Id of the step. */
  id: string;
  /** The longest chain of waiting that goes through the end of the step. With `slack_ms`, the wall clock exactly. */
  through_ms: number;
  /** Milliseconds by which it could end later without making the scope longer. */
  slack_ms: number;
  /** Its end is on the critical path, or it was at work there until another step took over. */
  on_path: boolean;
  /** Its beginning is estimated or its end is missing. */
  estimated: boolean;
};

/** The answer to changes. */
export type WhatIfDoc = {
  /** The changes as they were asked for. */
  changes: ChangeDoc[];
  /** Milliseconds from the first moment to the last, as it was. */
  before_ms: number;
  /** As it would be. An estimate: everything else is assumed to stay as it was. */
  after_ms: number;
  /** The difference; negative when it would take longer. */
  saved_ms: number;
  /** The difference as a part of what it was. */
  saved_share: number;
};

/** One change and what it touches. */
export type ChangeDoc = {
  /** As it was asked for. */
  text: string;
  /** Steps and gaps whose time changes. */
  touched: number;
  /** Milliseconds of the critical path that change. */
  on_path_ms: number;
};

/** The path of a session in short. */
export type PathStripDoc = {
  /** The session. */
  session_id: string;
  /** Its sums. */
  path: ScopeDoc;
  /** What its time was spent on, from its first moment to its last; of what shares a pixel, the most. */
  strip: StripPartDoc[];
  /** Steps on the path: stretches of positions in the depth-first order of the tree, the first and the last of each. */
  on_path: number[][];
};

/** A stretch of time. */
export type StripPartDoc = {
  /** Milliseconds since the path's first moment. */
  at_ms: number;
  /** How long. */
  ms: number;
  /** What it was mostly spent on. */
  class: string;
};

/** What went wrong in a session. */
export type TroubleDoc = {
  /** The session. */
  session_id: string;
  /** Steps that failed. */
  failures: number;
  /** How many of them were overcome: the same worked later, or the agent went on with something else. */
  overcome: number;
  /** Agents of which a step failed: those that did not overcome it first, then in order of appearance. */
  agents: TroubledAgentDoc[];
  /** Agents that are not told, by `max_troubled_agents`. */
  agents_left_out: number;
};

/** An agent of which a step failed. */
export type TroubledAgentDoc = {
  /** Who. */
  agent: AgentBriefDoc;
  /** `running`, `completed`, `failed` or `unknown`. */
  status: string;
  /** Who started it, and who started that one: the outermost first. Empty for a main agent. */
  above: AgentBriefDoc[];
  /** The call that started it; null for a main agent, or when nobody knows. */
  started_by?: StepBriefDoc | null;
  /** The link that leads into it from there, as FROM..TO; null when there is none. */
  link?: string | null;
  /** That call is inferred. */
  inferred: boolean;
  /** Somebody started it, and no record says who. */
  start_unknown: boolean;
  /** Its steps that failed. */
  failures: number;
  /** How many of them were overcome. */
  overcome: number;
  /** The one that matters most: the last of the worst. */
  worst: WorstDoc;
};

/** A failed step. */
export type WorstDoc = {
  /** Which. */
  step: StepBriefDoc;
  /** What it was for, or the first words of it. */
  detail: string;
  /** First words of what went wrong, where its source says. */
  error?: string | null;
  /** What became of it, as in the failures of a session. */
  outcome: string;
  /** A person refused it. */
  refused: boolean;
  /** The failure that it came from in the first place; null when it is a first one. */
  first_cause?: StepBriefDoc | null;
};

/** Failures of some sessions. */
export type FailuresDoc = {
  /** Always `unspool.failures/1`. */
  schema: string;
  /** Sessions, oldest first; those without failures too. */
  sessions: SessionFailuresDoc[];
};

/** Failures of one session. */
export type SessionFailuresDoc = {
  /** Deterministic id. */
  id: string;
  /** The ids its sources gave it. */
  native_ids: string[];
  /** Title, or first prompt. */
  title?: string | null;
  /** Failed steps, in order of `seq`. */
  failures: FailureDoc[];
  /** How many of them were overcome. */
  overcome: number;
  /** How many ended a run: those after which nothing in it worked. */
  ended_run: number;
  /** How many runs those ended. */
  runs_ended: number;
};

/** Findings of some sessions. */
export type FindingsDoc = {
  /** Always `unspool.findings/1`. */
  schema: string;
  /** Sessions with what was found in them, oldest first; those without findings too. */
  sessions: SessionFindingsDoc[];
  /** Patterns that the prompts of sub-agents share, over all sessions, most used first. */
  templates: TemplateDoc[];
  /** Prompts that were compared with the first 200 patterns that begin alike (`MAX_CANDIDATES`), and with no others: templates may be missing. */
  unmatched_prompts: number;
};

/** Findings of one session. */
export type SessionFindingsDoc = {
  /** Deterministic id. */
  id: string;
  /** The ids its sources gave it. */
  native_ids: string[];
  /** Title, or first prompt. */
  title?: string | null;
  /** What was found, by finder, then in order of `seq`. */
  findings: FindingDoc[];
};

/** One finding. */
export type FindingDoc = {
  /** Stable name of the finder; docs/findings.md has them all. */
  code: string;
  /** What was found, in a sentence. */
  title: string;
  /** It rests on something that is not recorded, in a record that holds all else of its sort. */
  inferred: boolean;
  /** The agent it is about. */
  agent_id: string;
  /** The steps it is about, in order. */
  step_ids: string[];
  /** What it cost. */
  cost: CostDoc;
};

/** What a finding cost: what would not have been spent without it. */
export type CostDoc = {
  /** Tokens in all; null when no step of it says. */
  tokens?: number | null;
  /** US dollars for the calls that have a price; null when none has. */
  usd?: number | null;
  /** Calls without a price; when not 0, `usd` is a part only. */
  unpriced_calls: number;
  /** Milliseconds its steps took, those of parallel ones added up; null when none says. */
  ms?: number | null;
  /** Some of it is a share of what several steps cost together, or has an estimated time. */
  estimated: boolean;
};

/** One template. */
export type TemplateDoc = {
  /** What the prompts have in common; `…` stands for what differs. */
  pattern: string;
  /** The type of agent that was asked for; null when nobody says. */
  agent_type?: string | null;
  /** Always true: that these are one task is told from their first words. */
  inferred: boolean;
  /** How often it was given. */
  count: number;
  /** How many of these ended with an answer. */
  completed: number;
  /** How many ended with an error or an interruption. */
  failed: number;
  /** Completed as a part of completed and failed; null when nothing says how any ended. */
  success_rate?: number | null;
  /** How long they took, by nearest rank; null when nobody says. */
  durations?: DurationsDoc | null;
  /** Tokens of each agent with those it started, by nearest rank over those whose sources say; null when none does. */
  tokens?: SpreadDoc | null;
  /** US dollars of each of these, by nearest rank; null when a call has no price, or no source states tokens. */
  cost_usd?: SpreadUsdDoc | null;
  /** The agents, in order of reading. */
  agent_ids: string[];
};

/** How a number is spread. */
export type SpreadDoc = {
  /** How many are known. */
  known: number;
  /** The sum. */
  total: number;
  /** Half had at most this. */
  p50: number;
  /** 95 of 100 had at most this. */
  p95: number;
  /** The most. */
  max: number;
};

/** How dollars are spread. */
export type SpreadUsdDoc = {
  /** The sum. */
  total: number;
  /** Half cost at most this. */
  p50: number;
  /** 95 of 100 cost at most this. */
  p95: number;
  /** The most. */
  max: number;
};

/** What people said about the links of a session. */
export type LinksDoc = {
  /** The session. */
  session_id: string;
  /** In the order they were said; all of them, also those that something later took the place of. */
  links: SaidDoc[];
};

/** The answer to a query. */
export type QueryAnswerDoc = {
  /** Always `unspool.query/1`. */
  schema: string;
  /** The query as it was understood. */
  query: string;
  /** Sessions with such steps, oldest first. */
  sessions: SessionHits[];
  /** Sessions that were looked into. */
  looked_into: number;
  /** Sessions that were not, by the limit `max_query_sessions`. */
  not_looked_into: number;
  /** Steps that match and are not listed, by `limit`. */
  not_listed: number;
};

/** What was selected in one session. */
export type SessionHits = {
  /** Deterministic id. */
  id: string;
  /** The ids its sources gave it, sorted. */
  native_ids: string[];
  /** Given title, or the first prompt. */
  title?: string | null;
  /** For how many of its steps the query holds; `steps` may list fewer. */
  found: number;
  /** How many steps it has in all. */
  of_steps: number;
  /** Records that could not be looked into for `text:` conditions. */
  unread_records: number;
  /** The steps, in order of `seq`. */
  steps: StepHit[];
};

/** One step that was selected. */
export type StepHit = {
  /** Deterministic id; `unspool explain` takes it. */
  id: string;
  /** Position in the depth-first order of the session's tree. */
  seq: number;
  /** Kind of step, as in the JSON export. */
  kind: string;
  /** Tool, model, agent type, subtype or hook, as the kind has it. */
  name?: string | null;
  /** Id of the agent whose step it is. */
  agent_id: string;
  /** What the agent is called: `main`, its type, or its name. */
  agent: string;
  /** The run it belongs to. */
  run_id?: string | null;
  /** When it began. */
  started_at?: string | null;
  /** Milliseconds it took. */
  duration_ms?: number | null;
  /** All its tokens; null when none were reported. */
  tokens?: number | null;
  /** US dollars; null when it used no tokens or its model has no price. */
  cost_usd?: number | null;
  /** It failed. */
  is_error: boolean;
  /** It has begun and nothing says that it ended. */
  pending: boolean;
  /** First words of the message, or what the tool was given, without what is meant for a terminal (colours and the like). */
  preview?: string | null;
  /** What it was for. */
  intent?: string | null;
  /** First words of what went wrong. */
  error?: string | null;
  /** The first hit of each `text:` condition that it has one of. */
  snippets: SnippetDoc[];
};

/** Words that were looked for, with what stands around them. */
export type SnippetDoc = {
  /** Before. */
  before: string;
  /** The words as they stand there. */
  hit: string;
  /** Behind. */
  after: string;
};

/** What differs between two sides. */
export type DiffDoc = {
  /** Always `unspool.diff/1`. */
  schema: string;
  /** The first side. */
  a: SideDoc;
  /** The second side. */
  b: SideDoc;
  /** Nothing differs, not even times and tokens. */
  same: boolean;
  /** Steps by what became of them. */
  counts: Counts;
  /** The first step that was added, removed or changed in more than figures; null when there is none. */
  first_divergence?: StepDiff | null;
  /** Sums of each side, and what changed. */
  totals: TotalsDiff;
  /** Tools that either side used, by name. */
  tools: ToolDiff[];
  /** Models that each side used. */
  models: ModelsDiff;
  /** Agents, those that belong together as one. */
  agents: AgentDiff[];
  /** Steps that are not the same, agent by agent, in order. */
  steps: StepDiff[];
  /** Steps in parts too different to be aligned (`max_diff_edits`); they count as removed and added. */
  unaligned_steps: number;
};

/** What was compared. */
export type SideDoc = {
  /** Deterministic id of the session. */
  session_id: string;
  /** The ids its sources gave it. */
  native_ids: string[];
  /** Its title, or the first prompt. */
  title?: string | null;
  /** When what is compared began. */
  started_at?: string | null;
  /** Id of the run, when only one is compared. */
  run_id?: string | null;
  /** Id of the agent, when only it and those below it are compared. */
  agent_id?: string | null;
  /** The first words it began with. */
  prompt?: string | null;
};

/** Steps by what became of them. */
export type Counts = {
  /** The same in everything. */
  same: number;
  /** The same but for times and tokens. */
  figures: number;
  /** In both, with another name, input, status or model. */
  changed: number;
  /** Only in the second. */
  added: number;
  /** Only in the first. */
  removed: number;
};

/** A step that is not the same on both sides. */
export type StepDiff = {
  /** What became of it: `removed`, `added`, `changed` or `figures` (at most times and tokens differ). */
  change: string;
  /** What its agent is called. */
  agent: string;
  /** It on the first side. */
  a?: StepSide | null;
  /** It on the second side. */
  b?: StepSide | null;
  /** What differs, when both have it. */
  fields: FieldChange[];
};

/** A step of one side. */
export type StepSide = {
  /** Deterministic id. */
  id: string;
  /** Position in its session. */
  seq: number;
  /** Kind of step, as in the JSON export. */
  kind: string;
  /** Tool, model, agent type, subtype or hook. */
  name?: string | null;
  /** First words, or what the tool was given. */
  text?: string | null;
  /** It failed. */
  is_error: boolean;
};

/** One difference of a step or an agent that both sides have. */
export type FieldChange = {
  /** What differs: `name`, `input`, `text`, `intent`, `status`, `model`, `tokens` or `duration`; of an agent `type`, `name`, `model` or `status`. */
  field: string;
  /** How it is on the first side. */
  a?: string | null;
  /** How it is on the second side. */
  b?: string | null;
};

/** Sums of both sides. */
export type TotalsDiff = {
  /** Of the first. */
  a: TotalsDoc;
  /** Of the second. */
  b: TotalsDoc;
  /** The second less the first. */
  delta: TotalsDelta;
};

/** How much more the second side has; negative when it has less. */
export type TotalsDelta = {
  /** Steps. */
  steps: number;
  /** Calls of models. */
  model_calls: number;
  /** Calls of tools. */
  tool_calls: number;
  /** Steps that failed. */
  errors: number;
  /** Tokens of all five buckets; null when either side states none. */
  tokens?: number | null;
  /** US dollars; null when a call of either side has no price, or either states no tokens. */
  cost_usd?: number | null;
  /** Milliseconds from first to last moment; null when either is not known. */
  duration_ms?: number | null;
};

/** A tool that either side used. */
export type ToolDiff = {
  /** Its name. */
  name: string;
  /** Its use on the first side. */
  a: ToolSide;
  /** Its use on the second side. */
  b: ToolSide;
};

/** The use of a tool. */
export type ToolSide = {
  /** Calls. */
  calls: number;
  /** Calls that failed. */
  errors: number;
  /** Milliseconds of all calls whose duration is known; null when none is. */
  duration_ms?: number | null;
};

/** Models that were used, sorted. */
export type ModelsDiff = {
  /** On the first side. */
  a: string[];
  /** On the second side. */
  b: string[];
};

/** An agent, or two that belong together. */
export type AgentDiff = {
  /** What became of it: `removed`, `added`, `changed` or `figures` (at most times and tokens differ). */
  change: string;
  /** What it is called. */
  agent: string;
  /** It on the first side. */
  a?: AgentSide | null;
  /** It on the second side. */
  b?: AgentSide | null;
  /** Its steps by what became of them. */
  counts: Counts;
  /** What differs in the agent itself, when both have it. */
  fields: FieldChange[];
};

/** An agent of one side. */
export type AgentSide = {
  /** Deterministic id. */
  id: string;
  /** The id its source gave it. */
  native_id: string;
  /** The first words it was asked. */
  prompt?: string | null;
  /** How it ended. */
  status: string;
  /** Sums over its own steps that were compared. */
  totals: TotalsDoc;
};

/** What was odd. */
export type IssuesDoc = {
  /** Sessions that were looked into. */
  looked_into: number;
  /** Sessions that were not, by the limit `max_issue_sessions`. */
  not_looked_into: number;
  /** By code, errors first, then in the order of the catalogue. */
  issues: IssueSumDoc[];
  /** By where records came from, in order of the names. What is odd in a session of several sources is counted with each. */
  sources: SourceIssuesDoc[];
};

/** One sort of oddity. */
export type IssueSumDoc = {
  /** Stable name. */
  code: string;
  /** `error`, `warning` or `info`. */
  severity: string;
  /** A source wrote something that is not known yet. */
  drift: boolean;
  /** It says that something of what happened is missing in what is shown. */
  gap: boolean;
  /** What it means. */
  about: string;
  /** How often in all. */
  count: number;
  /** In how many sessions. */
  sessions: number;
  /** How often in records that belong to no session. */
  loose: number;
  /** The first of them, newest session first, then records without a session; at most `max_issue_samples` (8) of each. */
  samples: IssueSampleDoc[];
};

/** Where it occurred. */
export type IssueSampleDoc = {
  /** The session; null when the records belong to none. */
  session_id?: string | null;
  /** Its title. */
  title?: string | null;
  /** Where the records came from. */
  sources: string[];
  /** The file or request of the first record, where it belongs to no session. */
  stream?: string | null;
  /** What it is about; empty when there is nothing more to say. */
  detail: string;
  /** How often. */
  count: number;
  /** Ids of the first records it was seen in. */
  records: string[];
};

/** What was odd in what came from one source. */
export type SourceIssuesDoc = {
  source: string;
  /** How often something was odd. */
  count: number;
  /** How often something was not known yet. */
  drift: number;
  /** How often in records that belong to no session. */
  loose: number;
};

/** What became of what came in. */
export type ReceiptsDoc = {
  /** By source, in order of their names. */
  sources: ReceiptDoc[];
  /** What was refused with 429 since the process began, because too much waited (`max_pending_bytes`) or was being read (`max_reading_bytes`); nothing of it was kept. */
  refused: number;
};

/** What became of the records of a source. */
export type ReceiptDoc = {
  /** Where from: `otlp-http`, `otlp-grpc`, `files` and others. */
  source: string;
  /** Records seen; the sum of the others. */
  seen: number;
  /** Read and kept. */
  stored: number;
  /** There before. */
  duplicate: number;
  /** Not readable; kept as bytes. */
  rejected: number;
};

/** Tokens in windows of some hours. */
export type UsageWindowsDoc = {
  /** Hours of a window. */
  window_hours: number;
  /** Newest first; those of calls without a known key have none. */
  windows: UsageWindowDoc[];
  /** Calls that nobody knows the time of; they are in no window. */
  calls_without_time: number;
  /** Sessions that were looked into. */
  looked_into: number;
  /** Sessions that were not, by the limit `max_usage_sessions`. */
  not_looked_into: number;
};

/** One window of one key: it begins with the first call behind the window before. */
export type UsageWindowDoc = {
  /** What is left of the key: a keyed hash, the same for the same key. */
  key?: string | null;
  /** When its first call was made. */
  started_at: string;
  /** When it ends. */
  ends_at: string;
  /** It has not ended yet. */
  open: boolean;
  /** How many. */
  calls: number;
  /** Calls that failed. */
  errors: number;
  /** Tokens; null when no source says how many. */
  usage?: UsageDoc | null;
  /** Calls whose sources do not say; when not 0, `usage` is a part only. */
  uncounted_calls: number;
  /** US dollars for the calls that have a price. */
  cost_usd?: number | null;
  /** Calls whose model has no price; when not 0, `cost_usd` is a part only. */
  unpriced_calls: number;
  /** By model, in order of their names. */
  models: ModelUsageDoc[];
};

/** Calls of one model in a window. */
export type ModelUsageDoc = {
  /** The model; null where no source names it. */
  model?: string | null;
  /** How many. */
  calls: number;
  /** Calls that failed. */
  errors: number;
  /** Tokens; null when no source says how many. */
  usage?: UsageDoc | null;
  /** Calls whose sources do not say; when not 0, `usage` is a part only. */
  uncounted_calls: number;
  /** US dollars for the calls that have a price. */
  cost_usd?: number | null;
  /** Calls whose model has no price; when not 0, `cost_usd` is a part only. */
  unpriced_calls: number;
};

/** What the proxy carried for a command, told apart from everything else by the path its requests had. */
export type ProxyRunDoc = {
  /** Its exchanges since the process began. */
  exchanges: number;
  /** Those that are not over, or not kept yet. */
  waiting: number;
  /** Nothing waits: the sums are those of all exchanges. */
  shown: boolean;
  /** Sums over the steps that its exchanges tell of; the time is that of its calls of models. */
  totals: TotalsDoc;
  /** Agents whose steps those are, without internal ones. */
  agents: number;
  /** The sessions they stand in. */
  sessions: string[];
  /** Records that were not kept, or are beyond `max_proxy_run_records`: their steps are not in the sums. */
  records_left_out: number;
  /** Commands that were forgotten (`max_proxy_runs`). This one may be among them if it has no exchanges. */
  runs_forgotten: number;
};

/** The words documents use. */
export type WordsDoc = {
  /** Kinds of steps. */
  step_kinds: KindDoc[];
  /** Kinds of edges. */
  edge_kinds: string[];
  /** Those that somebody may confirm, deny or add. */
  link_kinds: string[];
  /** How agents, runs and sessions ended. */
  statuses: string[];
  /** What things look like. */
  looks: LookDoc[];
  /** Colours of the light theme. */
  light: Colours;
  /** Colours of the dark theme. */
  dark: Colours;
  /** Colours of types of agents; agents name theirs by its place here. */
  agent_colours: AgentColour[];
  /** Reasons for edges. */
  rules: RuleDoc[];
  /** What can be odd. */
  issues: IssueWordDoc[];
  /** What can be found. */
  findings: WordDoc[];
  /** What a node of a graph can be. */
  levels: string[];
  /** What an export can show. */
  views: WordDoc[];
  /** Formats to export to. */
  formats: FormatDoc[];
  /** Fields of the query language. */
  query_fields: QueryFieldDoc[];
};

/** A kind of step. */
export type KindDoc = {
  /** The word. */
  name: string;
  /** What steps of it look like. */
  look: string;
};

/** A look. */
export type LookDoc = {
  /** The word in other documents. */
  name: string;
  /** The word for people. */
  title: string;
  /** Its colour in the light theme. */
  light: string;
  /** Its colour in the dark theme. */
  dark: string;
};

/** Colours of one theme, as `#rrggbb`. */
export type Colours = {
  /** Behind everything. */
  paper: string;
  /** Text. */
  ink: string;
  /** Text that matters less. */
  dim: string;
  /** Edges. */
  line: string;
  /** Inside of nodes. */
  node: string;
  /** Around nodes. */
  border: string;
  /** Inside of frames, nearly transparent. */
  frame: string;
  /** Around frames. */
  frame_border: string;
  /** What failed. */
  error: string;
  /** Inside of what failed. */
  error_fill: string;
  /** Where an agent is started. */
  spawn: string;
  /** By look, in the order of the looks. */
  looks: string[];
};

/** A colour for both themes, as `#rrggbb`. */
export type AgentColour = {
  /** In the light theme. */
  light: string;
  /** In the dark theme. */
  dark: string;
};

/** A reason for an edge. */
export type RuleDoc = {
  /** The word. */
  name: string;
  /** Why such an edge is believed. */
  about: string;
  /** It guesses. */
  inferred: boolean;
};

/** Something that can be odd. */
export type IssueWordDoc = {
  /** The word. */
  name: string;
  /** What it means. */
  about: string;
  /** `error`, `warning` or `info`. */
  severity: string;
  /** A source wrote something that is not known yet. */
  drift: boolean;
  /** It says that something of what happened is missing in what is shown. */
  gap: boolean;
};

/** A word and what it means. */
export type WordDoc = {
  /** The word. */
  name: string;
  /** What it means. */
  about: string;
};

/** A format to export to. */
export type FormatDoc = {
  /** The word. */
  name: string;
  /** What it is. */
  about: string;
  /** How files of it end. */
  endings: string[];
  /** What it can show; the first is shown unless something else is asked for. */
  views: string[];
};

/** A field of the query language. */
export type QueryFieldDoc = {
  /** As it is written. */
  name: string;
  /** Other ways to write it. */
  aliases: string[];
  /** What may follow: `text`, `choice`, `number`, `time`, `condition` or `words`. */
  takes: string;
  /** What it means. */
  about: string;
  /** In use. */
  example: string;
  /** The words of a `choice`; empty for others. */
  choices: ChoiceDoc[];
};

/** A word of a fixed list. */
export type ChoiceDoc = {
  /** The word. */
  name: string;
  /** What it means; empty where the word says it. */
  about: string;
};

export type SubTasksAnswer = RequestDoc | ConversationsDoc;

/** The sub-tasks that one request asked for. */
export type RequestDoc = {
  /** The request, as its answer has it. */
  request_id: string;
  /** The agent that made it. */
  conversation_id: string;
  session_id: string;
  is_subtask: boolean;
  /** The request whose answer asked for the conversation of this one. */
  parent_task_request_id?: string | null;
  subtasks: SubTask[];
};

/** An agent that another one started. */
export type SubTask = {
  /** The first request of the sub-task. */
  request_id: string;
  conversation_id: string;
  task_number: number;
  description: string;
  message_count: number;
  status: string;
  tool_use_id?: string | null;
  /** Tokens of the sub-task and everything it started, unless no source says how many. */
  total_tokens?: number | null;
};

/** The document. */
export type ConversationsDoc = {
  conversations: ConversationNode[];
};

/** An agent and what it started. */
export type ConversationNode = {
  id: string;
  session_id: string;
  is_subtask: boolean;
  /** The request whose answer asked for this one. */
  parent_task_request_id?: string | null;
  messages: ConversationMessage[];
  subtasks: SubTask[];
};

/** What somebody said. */
export type ConversationMessage = {
  id: string;
  role: string;
  content: string;
  timestamp?: string | null;
};

/** What was said, once it is kept. */
export type LinkKeptDoc = {
  /** The session. */
  session_id: string;
  /** It is shown. Otherwise it is on the disk and shown as soon as the session is linked again. */
  visible: boolean;
  /** What was said, where it is shown. */
  link?: SaidDoc | null;
};

/** What somebody wants to say about a link. */
export type LinkWantedDoc = {
  /** `confirm`, `deny`, `add`, or `remove` to take back what was said before. */
  action: string;
  /** The cause: a step or agent by its id, or the id its source gave it. */
  from: string;
  /** The effect; of a spawn, the agent or any step of it. */
  to: string;
  /** What relation: a kind of edge, or `spawn`, `return`, `result`, `data`. Where only one can be meant, it can be left out. */
  kind?: string | null;
  /** Anything worth knowing about it. */
  note?: string | null;
  /** Who says so. */
  who?: string | null;
};

/** What comes back, by path. */
export interface Answers {
  "/api/requests/{id}/subtasks": SubTasksAnswer;
  "/api/v1/diff": DiffDoc;
  "/api/v1/facets": FacetsDoc;
  "/api/v1/health": HealthDoc;
  "/api/v1/issues": IssuesDoc;
  "/api/v1/proxy/runs/{run}": ProxyRunDoc;
  "/api/v1/query": QueryAnswerDoc;
  "/api/v1/receipts": ReceiptsDoc;
  "/api/v1/schema": WordsDoc;
  "/api/v1/search": SearchDoc;
  "/api/v1/sessions": SessionListDoc;
  "/api/v1/sessions/{id}": SessionDoc;
  "/api/v1/sessions/{id}/chain": ChainDoc;
  "/api/v1/sessions/{id}/explain/{thing}": Explanation;
  "/api/v1/sessions/{id}/failures": FailuresDoc;
  "/api/v1/sessions/{id}/findings": FindingsDoc;
  "/api/v1/sessions/{id}/graph": PlacedGraphDoc;
  "/api/v1/sessions/{id}/line": SessionLineDoc;
  "/api/v1/sessions/{id}/links": LinksDoc;
  "/api/v1/sessions/{id}/metrics": MetricsDoc;
  "/api/v1/sessions/{id}/numbers": NumbersDoc;
  "/api/v1/sessions/{id}/path": PathDoc;
  "/api/v1/sessions/{id}/path/strip": PathStripDoc;
  "/api/v1/sessions/{id}/range": RangeDoc;
  "/api/v1/sessions/{id}/runs": RunsDoc;
  "/api/v1/sessions/{id}/steps/{step}": StepDetailDoc;
  "/api/v1/sessions/{id}/templates": FindingsDoc;
  "/api/v1/sessions/{id}/timeline": TimelineDoc;
  "/api/v1/sessions/{id}/tree": TreeWindowDoc;
  "/api/v1/sessions/{id}/trouble": TroubleDoc;
  "/api/v1/sessions/{id}/values": FieldValuesDoc;
  "/api/v1/usage": UsageWindowsDoc;
}

/** What can be asked, by path. */
export interface Questions {
  "/api/requests/{id}/subtasks": {  };
  "/api/v1/diff": { a?: string | undefined; b?: string | undefined };
  "/api/v1/docs": {  };
  "/api/v1/facets": { q?: string | undefined; title?: string | undefined; native_id?: string | undefined; format?: string | undefined; source?: string | undefined; agent?: string | undefined; model?: string | undefined; cwd?: string | undefined; status?: string | undefined; since?: string | undefined; until?: string | undefined; errors?: boolean | undefined; issues?: boolean | undefined; gaps?: boolean | undefined; min_cost?: number | undefined; session?: string | undefined; position?: number | undefined };
  "/api/v1/health": {  };
  "/api/v1/issues": { session?: string | undefined; source?: string | undefined; code?: string | undefined };
  "/api/v1/issues/records/{loose}": {  };
  "/api/v1/live": { session?: string | undefined; steps?: boolean | undefined; since?: number | undefined };
  "/api/v1/openapi.json": {  };
  "/api/v1/proxy/runs/{run}": {  };
  "/api/v1/query": { q?: string | undefined; session?: string[] | undefined; limit?: number | undefined };
  "/api/v1/receipts": {  };
  "/api/v1/schema": {  };
  "/api/v1/search": { q?: string | undefined; title?: string | undefined; native_id?: string | undefined; format?: string | undefined; source?: string | undefined; agent?: string | undefined; model?: string | undefined; cwd?: string | undefined; status?: string | undefined; since?: string | undefined; until?: string | undefined; errors?: boolean | undefined; issues?: boolean | undefined; gaps?: boolean | undefined; min_cost?: number | undefined; session?: string | undefined; position?: number | undefined; sort?: string | undefined; order?: string | undefined; cursor?: string | undefined; limit?: number | undefined };
  "/api/v1/sessions": { q?: string | undefined; title?: string | undefined; native_id?: string | undefined; format?: string | undefined; source?: string | undefined; agent?: string | undefined; model?: string | undefined; cwd?: string | undefined; status?: string | undefined; since?: string | undefined; until?: string | undefined; errors?: boolean | undefined; issues?: boolean | undefined; gaps?: boolean | undefined; min_cost?: number | undefined; session?: string | undefined; position?: number | undefined; sort?: string | undefined; order?: string | undefined; cursor?: string | undefined; limit?: number | undefined };
  "/api/v1/sessions/{id}": {  };
  "/api/v1/sessions/{id}/chain": { of?: string[] | undefined };
  "/api/v1/sessions/{id}/explain/{thing}": {  };
  "/api/v1/sessions/{id}/export": { format?: string | undefined; view?: string | undefined; theme?: string | undefined; drill_down?: boolean | undefined; level?: string | undefined; group_by?: string | undefined; agent?: string[] | undefined; kind?: string[] | undefined; tool?: string[] | undefined; after?: string | undefined; before?: string | undefined; status?: string | undefined; edge?: string[] | undefined; min_confidence?: number | undefined; sequential?: boolean | undefined; full?: boolean | undefined; where?: string | undefined; run?: string[] | undefined; project?: boolean | undefined; min_share?: number | undefined };
  "/api/v1/sessions/{id}/failures": {  };
  "/api/v1/sessions/{id}/findings": { only?: string[] | undefined };
  "/api/v1/sessions/{id}/graph": { view?: string | undefined; level?: string | undefined; group_by?: string | undefined; agent?: string[] | undefined; kind?: string[] | undefined; tool?: string[] | undefined; after?: string | undefined; before?: string | undefined; status?: string | undefined; edge?: string[] | undefined; min_confidence?: number | undefined; sequential?: boolean | undefined; full?: boolean | undefined; open?: string[] | undefined; shut?: string[] | undefined; where?: string | undefined; run?: string[] | undefined; project?: boolean | undefined; min_share?: number | undefined; direction?: string | undefined; routing?: string | undefined; all_steps?: boolean | undefined; fit?: boolean | undefined };
  "/api/v1/sessions/{id}/line": {  };
  "/api/v1/sessions/{id}/links": {  };
  "/api/v1/sessions/{id}/metrics": {  };
  "/api/v1/sessions/{id}/numbers": { until_ms?: number | undefined };
  "/api/v1/sessions/{id}/path": { run?: string | undefined; agent?: string | undefined; what_if?: string[] | undefined };
  "/api/v1/sessions/{id}/path/strip": { px?: number | undefined };
  "/api/v1/sessions/{id}/range": { from_ns?: number | undefined; to_ns?: number | undefined };
  "/api/v1/sessions/{id}/records/{record}": { text?: boolean | undefined };
  "/api/v1/sessions/{id}/report": { redact?: boolean | undefined };
  "/api/v1/sessions/{id}/runs": { from?: number | undefined; to?: number | undefined; run?: string | undefined; steps?: number | undefined; full?: boolean | undefined; times?: boolean | undefined };
  "/api/v1/sessions/{id}/steps/{step}": {  };
  "/api/v1/sessions/{id}/templates": {  };
  "/api/v1/sessions/{id}/timeline": { from_ns?: number | undefined; to_ns?: number | undefined; px?: number | undefined; folded?: boolean | undefined; full?: boolean | undefined };
  "/api/v1/sessions/{id}/tree": { from?: number | undefined; to?: number | undefined; depth?: number | undefined; busiest?: boolean | undefined; open?: string[] | undefined; shut?: string[] | undefined; agent?: string | undefined; errors?: boolean | undefined; full?: boolean | undefined; find?: string | undefined };
  "/api/v1/sessions/{id}/trouble": {  };
  "/api/v1/sessions/{id}/values": {  };
  "/api/v1/usage": { since?: string | undefined; hours?: number | undefined };
  "/metrics": {  };
  "/thoughtflow/{file}": {  };
}
