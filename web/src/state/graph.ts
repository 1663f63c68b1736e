// What of the graph is asked for: its level, its direction, and the agents that are one node or many. All of it is in the address.
import { route, setParams } from "./route.ts";

const listed = (name: "open" | "shut") => (route.value.params[name] ?? "").split(",").filter((id) => id !== "");

export const graphLevel = () => route.value.params["level"] ?? "step";
/** Agents whose steps are nodes where an agent is one. */
export const openAgents = () => listed("open");
/** Agents that are one node where a step is one. */
export const shutAgents = () => listed("shut");

/** Another level; agents are as that level has them. */
export function showLevel(level: string): void {
  setParams({ level: level === "step" ? "" : level, open: undefined, shut: undefined });
}

/** Makes one node of an agent, or nodes of its steps. */
export function foldAgent(id: string, isOne: boolean): void {
  const name = graphLevel() === "agent" ? "open" : "shut";
  const isListed = (name === "open") === isOne;
  const others = listed(name).filter((other) => other !== id);
  setParams({ [name]: (isListed ? others : [...others, id]).join(",") });
}
