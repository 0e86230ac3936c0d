import { AgentBusyError } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import type { SimulatedFileSystem } from "agent-persistence/testing";
import { finish, payer, waitingPayer } from "../../transfer/movedAgents.ts";
import type { Crashes } from "../Crashes.ts";
import { Machine } from "../Machine.ts";
import { mustSucceed, Violation } from "../Violation.ts";

const [from, to] = ["order-7", "order-7-other"];
const leaseMs = 15_000;

type Storage = LogPersistenceStorageProvider;

/** What is forked, and how. */
export interface Forked {
  /** The id of the checkpoint that the fork begins at. Default: the head. */
  readonly checkpointId?: string;
  /** The log is pruned before. */
  readonly isPruned?: true;
  /** How the storage differs from the one that is shipped. */
  readonly change?: (storage: Storage) => Storage;
}

/** When the fork began and when it was there, and what was read of the agent. */
interface Moments {
  readonly begun: number;
  readonly done: number;
  readonly read: string;
}

/** A device with an agent that waits, with values in blobs, and is forked. */
export class ForkStage {
  readonly fileSystem: SimulatedFileSystem;
  readonly #forked: Forked;
  readonly #machine: Machine;

  constructor(fileSystem: SimulatedFileSystem, forked: Forked, machine = new Machine()) {
    this.fileSystem = fileSystem;
    this.#forked = forked;
    this.#machine = machine;
  }

  async play(): Promise<Moments> {
    const { storage } = this.#start();
    const made = await waitingPayer(storage, from);
    if (this.#forked.isPruned) {
      await finish(made, from);
      await made.agent.run("ann", { agentId: from });
      const { pruned } = await made.feature.prune({ policy: { maxCheckpoints: 2 } });
      if (pruned.length === 0) throw new Error("Nothing is pruned.");
    }
    const begun = this.fileSystem.position;
    await this.#fork(storage);
    return { begun, done: this.fileSystem.position, read: await this.#read(from) };
  }

  /** After every crash since it began the fork is there or not, and it can be made, finished and removed. */
  async explore({ begun, done, read }: Moments, crashes: Crashes): Promise<void> {
    for (const state of crashes.statesOf(this.fileSystem, begun, false)) {
      const isDone = state.after >= done;
      const restarted = crashes.restart(state, String(isDone));
      if (restarted === undefined) continue;
      const machine = state.model === "kill" ? this.#machine : new Machine();
      machine.endAll();
      const next = new ForkStage(restarted, this.#forked, machine);
      await crashes.check(state, (variant) => next.#recover(read, isDone, variant));
    }
  }

  /** What was begun is gone on with, or removed first: in every other case. */
  async #recover(read: string, isDone: boolean, variant: number): Promise<void> {
    if ((await this.#read(from)) !== read) throw new Violation("acknowledged", "the agent is another");
    let isThere = await this.#isThere();
    if (isDone && !isThere) throw new Violation("acknowledged", "the fork is gone");
    if (variant % 2 === 1) {
      await this.#once((storage) => payer(storage).feature.deleteAgent(to));
      isThere = await this.#isThere();
      if (isThere) throw new Violation("idempotent", "the fork is still there");
    }
    if (!isThere) await this.#once((storage) => this.#fork(storage));
    await this.#once((storage) => payer(storage).feature.deleteAgent(from));
    const output = await this.#once(endOf);
    if (output !== "ann, 800") throw new Violation("the world", `the fork ends with ${String(output)}`);
  }

  async #isThere(): Promise<boolean> {
    const { storage } = this.#start();
    const isListed = (await mustSucceed("usable", () => idsIn(storage))).includes(to);
    const isRead = (await mustSucceed("usable", () => storage.getCheckpoints(to))).length > 0;
    if (isListed !== isRead) throw new Violation("acknowledged", "the list and the fork differ");
    return isRead;
  }

  async #read(agentId: string): Promise<string> {
    const agent = payer(this.#start().storage).feature.agent(agentId);
    return mustSucceed("usable", async () => JSON.stringify([await agent.getCheckpoints(), await agent.getRequests()]));
  }

  async #fork(storage: Storage): Promise<void> {
    const { checkpointId } = this.#forked;
    await payer(storage)
      .feature.agent(from)
      .fork(to, checkpointId === undefined ? {} : { checkpointId });
  }

  /** Whoever began before the crash cannot be asked any more; it is waited for. */
  async #once<Result>(action: (storage: Storage) => Promise<Result>): Promise<Result> {
    const { storage, clock } = this.#start();
    return mustSucceed("usable", () =>
      action(storage).catch((error: unknown) => {
        if (!(error instanceof AgentBusyError)) throw error;
        clock.advance(leaseMs);
        return action(storage);
      }),
    );
  }

  #start() {
    const { options, clock } = this.#machine.start(this.fileSystem);
    const storage = new FilePersistenceStorageProvider({ ...options, inlineThresholdBytes: 300 });
    return { storage: this.#forked.change?.(storage) ?? storage, clock };
  }
}

/** What comes of the fork; where it begins before the question, it asks first. */
async function endOf(storage: Storage): Promise<unknown> {
  const made = payer(storage);
  await made.agent.resume({ agentId: to });
  const { output } = (await finish(made, to)) as { readonly output?: unknown };
  return output;
}

async function idsIn({ log }: Storage): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { agentId } of log.list()) ids.push(agentId);
  return ids;
}
