import { persistence, type PersistenceStorageProvider } from "agent-persistence";
import type { VerbWorld } from "./VerbWorld.ts";

/** What a verb acts on. */
interface Target {
  readonly world: VerbWorld;
  readonly storage: PersistenceStorageProvider;
  /** The request that the agent waited for at first. */
  readonly requestId: string;
  /** An id for a new agent. */
  readonly forkId: string;
}

type Verb = (target: Target) => Promise<unknown>;

const outside = ({ world, storage }: Target) => persistence(world.agent(storage)).agent("a");

/** What a program may call next, by name. */
export const verbs = {
  run: ({ world, storage }) => world.agent(storage).run("in", { agentId: "a", runId: "r" }),
  "run another": ({ world, storage }) =>
    world.agent(storage).run("other", { agentId: "a", runId: "other", unfinished: "abandon" }),
  resume: ({ world, storage }) => world.agent(storage).resume({ agentId: "a" }),
  branch: ({ world, storage }) => world.agent(storage).resume({ agentId: "a", checkpointId: "1-1" }),
  answer: ({ world, storage, requestId }) => world.answer("a", requestId, storage),
  reject: (target) => outside(target).reject(target.requestId, "no"),
  cancel: (target) => outside(target).cancel("enough"),
  rollback: (target) => outside(target).rollbackToCheckpoint("1-1"),
  "rollback to the latest": (target) => outside(target).rollbackToLatestCheckpoint(),
  "rollback of messages": (target) =>
    outside(target).rollbackToCheckpoint("1-1", { rollbackStrategy: "message_history_only" }),
  "execution point": (target) => outside(target).setExecutionPoint({ nodeId: "ask", input: "again" }),
  edit: (target) => outside(target).editCheckpoint("1-1", { by: "me", reason: "a test", lastInput: "edited" }),
  fork: (target) => outside(target).fork(target.forkId),
  name: (target) => outside(target).nameCheckpoint("1-1", "first"),
  note: (target) => outside(target).note({ key: "k", value: 1 }),
  settle: ({ world, storage }) => world.settleAll("a", storage),
  prune: ({ world, storage }) => persistence(world.agent(storage)).prune(),
  "take over": (target) => outside(target).takeOver(),
} satisfies Record<string, Verb>;

export type VerbName = keyof typeof verbs;

export const verbNames = Object.keys(verbs) as readonly VerbName[];

/** The verbs that keep the line on which an answer was given. */
export const keeping: ReadonlySet<VerbName> = new Set<VerbName>([
  "run",
  "resume",
  "answer",
  "fork",
  "name",
  "note",
  "settle",
  "prune",
  "take over",
]);
