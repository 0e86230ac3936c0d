import fc from "fast-check";
import { type AgentCheckpointData, type AIAgent, type DurableAgent, persistence } from "agent-persistence";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { logStorages, type Opened, type TestStorage } from "../support/storages.ts";
import { askingAgent, stepOf, steps, versionOf } from "./support/askingAgent.ts";
import { cases } from "../../soak/cases.ts";

const counts: Readonly<Record<string, number>> = { memory: cases(4, 200), file: cases(1, 20) };

/** What happens to an agent that waits. */
const acts = ["fork", "migrate", "resume", "answer", "prune", "move", "moveTrusted"] as const;
/** These begin the lines at the newest checkpoint. Between checkpoints nothing is done here that they would undo. */
const moves = ["forkCheckpoint", "resumeCheckpoint", "edit"] as const;
type Act = (typeof acts)[number] | (typeof moves)[number];

interface Plan {
  readonly automatic: boolean;
  readonly acts: readonly Act[];
}

const actsOf = (known: readonly Act[]) => fc.array(fc.constantFrom(...known), { minLength: 2, maxLength: 9 });
const plans: fc.Arbitrary<Plan> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ automatic: fc.constant(true), acts: actsOf([...acts, ...moves]) }) },
  { weight: 1, arbitrary: fc.record({ automatic: fc.constant(false), acts: actsOf(acts) }) },
);

/** An agent that is forked, edited, moved, pruned and migrated while it waits, and what a person does with it. */
class Life {
  readonly done: string[] = [];
  /** How often each step was approved, less what a move back, a fork or an import has dropped. */
  readonly approvals = new Map<string, number>();
  /** How often the input of each step was edited. */
  readonly edits = new Map<string, number>();
  /** Absent while the run has not ended. */
  output: string | undefined;
  readonly #storage: TestStorage<LogPersistenceStorageProvider>;
  readonly #automatic: boolean;
  #opened: Opened<LogPersistenceStorageProvider>;
  #agentId = "a";
  #forks = 0;
  #version = 0;
  /** The steps that were approved and have not been made; those approved since the newest checkpoint. */
  readonly #unused = new Set<string>();
  readonly #since = new Set<string>();

  constructor(
    storage: TestStorage<LogPersistenceStorageProvider>,
    opened: Opened<LogPersistenceStorageProvider>,
    automatic: boolean,
  ) {
    this.#storage = storage;
    this.#opened = opened;
    this.#automatic = automatic;
  }

  agent(version = this.#version): AIAgent<string, string> {
    return askingAgent(this.#opened(), { version, automatic: this.#automatic, done: this.done });
  }

  get #outside(): DurableAgent {
    return persistence(this.agent()).agent(this.#agentId);
  }

  async fork(checkpointId?: string): Promise<void> {
    const forkId = `f${++this.#forks}`;
    await this.#outside.fork(forkId, checkpointId === undefined ? {} : { checkpointId });
    this.#agentId = forkId;
    this.#drop([...this.#unused]);
  }

  migrate(): void {
    this.#version++;
  }

  async resume(checkpointId?: string): Promise<void> {
    const at = checkpointId === undefined ? {} : { checkpointId };
    const result = await this.agent().resume({ agentId: this.#agentId, ...at });
    this.#unused.clear();
    this.#since.clear();
    if (result.status === "completed") this.output = result.output;
  }

  async answer(): Promise<void> {
    const [request] = await this.#outside.getRequests();
    if (!request) return;
    const step = request.prompt ?? "";
    await this.#outside.answer(request.requestId, { approved: true });
    this.approvals.set(step, (this.approvals.get(step) ?? 0) + 1);
    this.#unused.add(step);
    this.#since.add(step);
  }

  async prune(): Promise<void> {
    const policy = { maxCheckpoints: 2, completedDays: Infinity };
    const { failed } = await persistence(this.agent()).prune({ agentId: this.#agentId, policy });
    for (const { error } of failed) throw error;
  }

  async move(trustApprovals = false): Promise<void> {
    const target = await this.#storage.open();
    await importAgent(target(), exportAgent(this.#opened(), this.#agentId, { move: true }), { trustApprovals });
    this.#opened = target;
    if (!trustApprovals) this.#drop([...this.#unused]);
  }

  async moveTrusted(): Promise<void> {
    await this.move(true);
  }

  async forkCheckpoint(): Promise<void> {
    const { checkpointId } = await this.#newest();
    this.#drop(this.#since);
    await this.fork(checkpointId);
  }

  async resumeCheckpoint(): Promise<void> {
    const { checkpointId } = await this.#newest();
    this.#drop(this.#since);
    await this.resume(checkpointId);
  }

  /** Only lines that ask: what others have done would be done again. The code that they were stored by edits them. */
  async edit(): Promise<void> {
    const { checkpointId, nodeId, lastInput } = await this.#newest();
    const step = stepOf(nodeId);
    if (!step.startsWith("ask")) return;
    const outside = persistence(this.agent(versionOf(nodeId))).agent(this.#agentId);
    await outside.editCheckpoint(checkpointId, { by: "p", reason: "r", lastInput: `${String(lastInput)}!` });
    this.edits.set(step, (this.edits.get(step) ?? 0) + 1);
    this.#drop([...this.#since, step]);
  }

  /** Approves all that is asked, until the agent has ended. */
  async finish(): Promise<void> {
    for (let tries = 0; tries <= steps.length && this.output === undefined; tries++) {
      for (let open = (await this.#outside.getRequests()).length; open > 0; open--) await this.answer();
      await this.resume();
    }
  }

  async #newest(): Promise<AgentCheckpointData> {
    return (await this.#outside.getCheckpoints()).at(-1) as AgentCheckpointData;
  }

  /** What was approved after the checkpoint that lines go back to is asked again, and in a fork or an import all that was not used. */
  #drop(dropped: Iterable<string>): void {
    for (const step of dropped)
      if (this.#unused.delete(step)) this.approvals.set(step, (this.approvals.get(step) ?? 0) - 1);
    this.#since.clear();
  }
}

/** The output of a run with edits of the inputs of steps. */
function outputWith(edits: ReadonlyMap<string, number>): string {
  const step = (text: string, name: string) => `${text}${"!".repeat(edits.get(name) ?? 0)} ${name}`;
  const first = step("in", "first");
  const left = ["a", "askA", "inner", "askY"].reduce(step, first);
  const begun = step(first, "b");
  return step(`[${left}|(${step(begun, "askX")},${step(begun, "askZ")})]`, "last");
}

async function check(storage: TestStorage<LogPersistenceStorageProvider>, plan: Plan): Promise<void> {
  const life = new Life(storage, await storage.open(), plan.automatic);
  expect(await life.agent().run("in", { agentId: "a" })).toMatchObject({ status: "waiting" });
  for (const act of plan.acts) if (life.output === undefined) await life[act]();
  await life.finish();
  expect(life.output).toBe(outputWith(life.edits));
  expect(life.done.toSorted()).toEqual(steps.toSorted());
  const asked = steps.filter((step) => step.startsWith("ask"));
  expect(Object.fromEntries(life.approvals)).toEqual(Object.fromEntries(asked.map((step) => [step, 1])));
}

describe.each(logStorages)("$name: a run that waits in branches and in a called agent", (storage) => {
  it("does everything once after any order of forks, edits, branches, prunings, moves and migrations", async () => {
    const numRuns = counts[storage.name] ?? 1;
    await fc.assert(
      fc.asyncProperty(plans, (plan) => check(storage, plan)),
      { numRuns, timeout: 60_000 },
    );
  });
});
