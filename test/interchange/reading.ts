import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { persistence, type AIAgent, type DurableAgent, type ResumeOptions } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import { TaskManager, type ClaimableTask, type Task } from "agent-persistence/task";
import { code, counter, desk, editor, errand, mover, openStorage, shop, World } from "./agents.ts";
import { digest, shown } from "./shown.ts";

type Options = Parameters<typeof desk>[2];
type Build = (world: World, storage: LogPersistenceStorageProvider, where: Place, options: Options) => AIAgent<never>;

/** A copy of a fixture, and the agent in it that is looked at. */
interface Place {
  readonly directory: string;
  readonly agentId: string;
}

/** The definition of the agents in each folder of `logs/`. */
export const fixtures = {
  loop: (world, storage, _place, options) => desk(world, storage, options),
  code: (world, storage, _place, options) => code(world, storage, options),
  moves: (world, storage, _place, options) => mover(world, storage, options),
  asking: (world, storage, _place, options) => shop(world, storage, options),
  tasks: (world, storage, _place, options) => errand(world, storage, options),
  files: (world, storage, place, options) => editor(world, storage, workspaceOf(place), options),
  pruned: (world, storage, _place, options) => counter(world, storage, options),
  owners: (world, storage, _place, options) => counter(world, storage, options),
} as const satisfies Record<string, Build>;

export type Fixture = keyof typeof fixtures;

/** The folder with the files of an agent. A checkout may have changed their modes, which are part of what is rolled back. */
export function workspaceOf({ directory, agentId }: Place): string {
  const root = join(directory, "workspaces", agentId);
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) chmodSync(join(entry.parentPath, entry.name), 0o644);
  return root;
}

/** When logs are read: some time after they were written, before anything that waits expires. */
export const later = Date.UTC(2026, 1, 1);

/** One agent of a fixture as a later process builds it. */
export function lateAgent(name: Fixture, place: Place, options: Options = {}) {
  const world = new World();
  const storage = openStorage(place.directory);
  const build: Build = fixtures[name];
  const agent = build(world, storage, place, { clock: new SimulatedClock(later), ...options });
  return { world, storage, agent, durable: persistence(agent).agent(place.agentId), place };
}

export type LateAgent = ReturnType<typeof lateAgent>;

/** The agent that has checkpoints from outside a run and so no status: no list has it. */
const unlisted: Partial<Record<Fixture, readonly string[]>> = { moves: ["imported"] };

/** Ids of the agents of a fixture, sorted; without those that were deleted. */
export async function agentIds(name: Fixture, directory: string): Promise<readonly string[]> {
  const ids = [...(unlisted[name] ?? [])];
  for await (const { agentId } of openStorage(directory).log.list()) ids.push(agentId);
  return ids.toSorted();
}

/** All that can be read of a fixture without changing it. */
export async function readBack(name: Fixture, directory: string): Promise<unknown> {
  const agents: Record<string, unknown> = {};
  const ids = await agentIds(name, directory);
  for (const agentId of ids) {
    const { durable } = lateAgent(name, { directory, agentId });
    agents[agentId] = {
      checkpoints: await durable.getCheckpoints(),
      latest: await durable.getLatestCheckpoint(),
      messages: await durable.getMessages(),
      originals: await durable.getMessages({ original: true }),
      doubts: await durable.getToolCallsInDoubt(),
      requests: await durable.getRequests(),
      taskName: await durable.getTaskName(),
      validation: await validationOf(durable),
    };
  }
  return shown({ agents, ...(await listed(name, { directory, agentId: ids[0] ?? "" })) });
}

/** What lists say: summaries, what is unfinished, and the tasks. */
async function listed(name: Fixture, place: Place) {
  const { agent, storage } = lateAgent(name, place);
  const tasks = new TaskManager({ storage, clock: new SimulatedClock(later) });
  return {
    summaries: await all(storage.log.list()),
    unfinished: await all(persistence(agent).unfinished({ includeFailed: true })),
    tasks: (await all(tasks.list())).map(withoutCursor),
    startable: asBefore(await all(tasks.claimable())),
  };
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const one of items) found.push(one);
  return found;
}

const statuses: readonly string[] = ["in_progress", "waiting", "queued"];

/** 0.1.0 put what was interrupted before what is due and what is queued, and gave neither priorities nor attempts. */
function asBefore(tasks: readonly ClaimableTask[]) {
  const shown = tasks.map(({ priority: _priority, attempts: _attempts, ...task }) => task);
  return shown.toSorted((a, b) => statuses.indexOf(a.status) - statuses.indexOf(b.status));
}

/** What became of a run that went on, without what a later version may store in another way. */
export async function wentOn(late: LateAgent, act: () => Promise<unknown>): Promise<unknown> {
  const result = await act().catch((error: { readonly code?: string; readonly name: string }) => ({
    error: error.code ?? error.name,
  }));
  const { world, durable, place } = late;
  const root = join(place.directory, "workspaces", place.agentId);
  return shown({
    result,
    done: world.done,
    messages: digest(await durable.getMessages()),
    checkpoints: (await durable.getCheckpoints()).map(({ checkpointId, nodeId, status }) =>
      [checkpointId, nodeId, status].join(" "),
    ),
    ...(existsSync(root) && { files: filesIn(root) }),
  });
}

function filesIn(root: string): Readonly<Record<string, string>> {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  return Object.fromEntries(paths.map((path) => [path.slice(root.length + 1), readFileSync(path, "utf8")]));
}

/** Every agent of a fixture resumed, each by a process of its own. */
export async function goOn(name: Fixture, directory: string, options: ResumeOptions = {}): Promise<unknown> {
  const agents: Record<string, unknown> = {};
  for (const agentId of await agentIds(name, directory)) {
    const late = lateAgent(name, { directory, agentId });
    agents[agentId] = await wentOn(late, () => withoutTornTail(late.agent.resume({ agentId, ...options })));
  }
  return agents;
}

/** 0.1.0 gave tasks no cursor. */
function withoutCursor({ cursor: _cursor, ...task }: Task): Omit<Task, "cursor"> {
  return task;
}

/** 0.1.0 did not look at the end of a log. */
async function validationOf(durable: DurableAgent): Promise<object> {
  const { tornTail: _tornTail, integrity, ...validation } = await durable.validateCheckpoint();
  const { logComplete: _logComplete, ...checks } = integrity;
  return { ...validation, integrity: checks };
}

async function withoutTornTail(result: Promise<object>): Promise<object> {
  const { tornTail: _tornTail, ...rest } = (await result) as { readonly tornTail?: unknown };
  return rest;
}
