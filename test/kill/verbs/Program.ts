/** What a node of the attacked agent does. */
export const nodeKinds = ["book", "pay", "ask", "model", "branches"] as const;
export type NodeKind = (typeof nodeKinds)[number];

/** A call of the public API. Numbers say which of several agents, checkpoints or requests it takes. */
interface VerbCall {
  readonly verb: VerbName;
  readonly agent: number;
  readonly at: number;
}

export const verbNames = [
  "run",
  "resume",
  "answer",
  "reject",
  "cancel",
  "rollback",
  "rollbackToLatest",
  "messagesOnly",
  "executionPoint",
  "branch",
  "edit",
  "fork",
  "forkAt",
  "copy",
  "name",
  "note",
  "prune",
  "settle",
  "takeOver",
  "read",
] as const;
export type VerbName = (typeof verbNames)[number];

/** What a process of the attack is told. */
export interface Life {
  readonly directory: string;
  readonly storage: "file" | "sqlite";
  readonly nodes: readonly NodeKind[];
  /** Absent: the process brings all agents to an end. */
  readonly calls?: readonly VerbCall[];
}

/** What became of an agent in the end. */
export interface AgentEnd {
  readonly agentId: string;
  readonly status: string;
  /** The ids of the calls whose effects its run counts on. Absent: it has no output. */
  readonly output?: readonly string[];
  /** The calls of which its checkpoints say that they were reverted. A redo, or a branch, may count on them again. */
  readonly reverted?: readonly string[];
}
