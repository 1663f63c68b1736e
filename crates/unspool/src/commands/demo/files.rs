//! The files of the demo: made-up sessions, as those who wrote them would have left them behind.

macro_rules! demo_files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../demo/", $path))),)*]
    };
}

/// A path and what is written there.
pub(super) type File = (&'static str, &'static str);

/// The session that `--show` shows.
pub(super) const SHOP: &[File] = demo_files![
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0.jsonl",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000001a.jsonl",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000001a.meta.json",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000002b.jsonl",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000002b.meta.json",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000003c.jsonl",
    "shop/5e55a9e0-0c0a-4b0d-9d3e-0000000000d0/subagents/agent-a1f00d0000000004d.jsonl",
];

/// A failure deep inside that ends everything above it, waste and retries, other agents, spans, recorded requests and events of `ThoughtFlow`.
pub(super) const OTHERS: &[File] = demo_files![
    "museum/sess_museum_guide_31.jsonl",
    "handbook/d0c55173-77aa-4e51-9b1f-00000000b002.jsonl",
    "codex/rollout-2026-10-12T09-02-00-ba70c0de-1c00-4000-8000-0000000c0de1.jsonl",
    "codex/rollout-2026-10-12T09-02-16-ba70c0de-5a40-4000-8000-0000000c0de2.jsonl",
    "codex/rollout-2026-10-12T09-02-17-ba70c0de-5e28-4000-8000-0000000c0de3.jsonl",
    "ledger/1ed6e700-4b1c-4c02-8f67-00000000c001.jsonl",
    "ledger/1ed6e700-4b1c-4c02-8f67-00000000c001/subagents/agent-a1ed9e700000000a1.jsonl",
    "ledger/1ed6e700-4b1c-4c02-8f67-00000000c001/subagents/agent-a1ed9e700000000a1.meta.json",
    "ledger/1ed6e700-4b1c-4c02-8f67-00000000c001/subagents/agent-a1ed9e700000000b2.jsonl",
    "ledger/1ed6e700-4b1c-4c02-8f67-00000000c001/subagents/agent-a1ed9e700000000b2.meta.json",
    "ledger/1ed6e700-4b1c-4c02-8f67-00000000c001/subagents/agent-a1ed9e700000000c3.jsonl",
    "ledger/1ed6e700-4b1c-4c02-8f67-00000000c001/subagents/agent-a1ed9e700000000c3.meta.json",
    "ledger/1ed6e700-4b1c-4c02-8f67-00000000c001/subagents/agent-a1ed9e700000000d4.jsonl",
    "ledger/1ed6e700-4b1c-4c02-8f67-00000000c001/subagents/agent-a1ed9e700000000d4.meta.json",
    "ledger/1ed6e700-4b1c-4c02-8f67-00000000c001/subagents/agent-a1ed9e700000000e5.jsonl",
    "ledger/1ed6e700-4b1c-4c02-8f67-00000000c001/subagents/agent-a1ed9e700000000e5.meta.json",
    "research/trace.json",
    "support/requests.jsonl",
];

/// The session that goes on while the demo runs; `live.rs` plays it.
pub(super) const LIVE: &[File] = demo_files![
    "live/feed0000-b0a2-4d01-8000-000000000001.jsonl",
    "live/feed0000-b0a2-4d01-8000-000000000001/subagents/agent-afeed000000000001.jsonl",
    "live/feed0000-b0a2-4d01-8000-000000000001/subagents/agent-afeed000000000001.meta.json",
    "live/feed0000-b0a2-4d01-8000-000000000001/subagents/agent-afeed000000000002.jsonl",
    "live/feed0000-b0a2-4d01-8000-000000000001/subagents/agent-afeed000000000002.meta.json",
    "live/feed0000-b0a2-4d01-8000-000000000001/subagents/agent-afeed000000000003.jsonl",
    "live/feed0000-b0a2-4d01-8000-000000000001/subagents/agent-afeed000000000003.meta.json",
    "live/feed0000-b0a2-4d01-8000-000000000001/subagents/agent-afeed000000000004.jsonl",
    "live/feed0000-b0a2-4d01-8000-000000000001/subagents/agent-afeed000000000004.meta.json",
    "live/feed0000-b0a2-4d01-8000-000000000001/subagents/agent-afeed000000000005.jsonl",
    "live/feed0000-b0a2-4d01-8000-000000000001/subagents/agent-afeed000000000005.meta.json",
];

pub(super) fn all() -> impl Iterator<Item = File> {
    [SHOP, OTHERS, LIVE].into_iter().flatten().copied()
}
