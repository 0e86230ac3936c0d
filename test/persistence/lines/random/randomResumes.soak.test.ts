import { cpSync } from "node:fs";
import { type AgentCheckpointData, persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import fc from "fast-check";
import { expect, it } from "vitest";
import { isCausedBy, isCrash, isDoubt } from "../../support/causesOf.ts";
import { Stopped } from "../../support/durableAgent.ts";
import { memory, type Opened } from "../../support/storages.ts";
import { linesAgent } from "../support/linesAgent.ts";
import { comparable, LinesWorld } from "../support/LinesWorld.ts";
import { crashing, goOn, livePartly, undisturbed } from "../support/liveLines.ts";
import { type RandomLines, treesOf } from "../support/randomLines.ts";
import { recordsOf } from "../../support/stored.ts";
import { temporaryFolder, treeOf } from "../../../workspace/fixture.ts";
import { cases } from "../../../soak/cases.ts";

/** A run that a process leaves, resumes from its checkpoints, and a rollback. Each process ends after so many saves. */
interface Story {
  readonly lines: RandomLines;
  readonly saves: number;
  readonly resumes: readonly Resume[];
  /** The first process that rolls back. */
  readonly rollbackSaves: number;
}

interface Resume {
  /** The number of the checkpoint from which the resume continues. */
  readonly from: number;
  readonly saves: number;
}

/** The agent of a story, with a world and a directory that no other agent changes. */
class Resumed {
  readonly #opened: Opened<LogPersistenceStorageProvider>;
  readonly #world: LinesWorld;
  readonly #directory: string;

  private constructor(directory: string, world: LinesWorld) {
    this.#directory = directory;
    this.#world = world;
    this.#opened = () => new FilePersistenceStorageProvider({ directory });
  }

  /** An agent whose first process has ended. */
  static async begin({ lines, saves }: Story): Promise<Resumed> {
    const begun: RandomLines = { ...lines, processes: [{ saves }], answers: ["later"], moves: 0 };
    const world = new LinesWorld(begun);
    world.folder = temporaryFolder();
    const resumed = new Resumed(temporaryFolder(), world);
    await livePartly(begun, crashing(resumed.#opened), world);
    return resumed;
  }

  /** A copy of the agent, its storage and its world. */
  copy(): Resumed {
    const world = new LinesWorld(this.#world.lines);
    for (const [id, effect] of this.#world.effects) world.effects.set(id, effect);
    world.undone.push(...this.#world.undone);
    world.folder = copyOf(this.#world.folder ?? "");
    return new Resumed(copyOf(this.#directory), world);
  }

  /** Resumes in a process that ends. Returns whether the resume restarted the run. */
  async resume({ from, saves }: Resume): Promise<boolean> {
    const checkpoints = await this.#outside.getCheckpoints();
    if (checkpoints.length === 0 || checkpoints.at(-1)?.status === "completed") return false;
    const { length } = await this.#madeByResumes();
    const { checkpointId = "" } = checkpoints[from % checkpoints.length] ?? {};
    const agent = linesAgent(this.#world, crashing(this.#opened).ending(saves));
    await agent.resume({ agentId: "a", checkpointId }).catch(crashed);
    return (await this.#madeByResumes()).length > length;
  }

  get #outside() {
    return persistence(linesAgent(this.#world, this.#opened())).agent("a");
  }

  /** The checkpoints at which resumes restarted the run. */
  async #madeByResumes(): Promise<readonly AgentCheckpointData[]> {
    const checkpoints = await this.#outside.getCheckpoints();
    return checkpoints.filter(
      ({ move, branch, agentPath }) => move === "branch" && branch === undefined && agentPath.length === 0,
    );
  }

  async firstCheckpoint(): Promise<string> {
    return (await this.#outside.getCheckpoints())[0]?.checkpointId ?? "";
  }

  async lastResume(): Promise<string> {
    return (await this.#madeByResumes()).at(-1)?.checkpointId ?? "";
  }

  /** Rolls back in a process that ends, and in another one unless the next run finishes the rollback. */
  async goBack(checkpointId: string, saves: number): Promise<void> {
    const ending = persistence(linesAgent(this.#world, crashing(this.#opened).ending(saves))).agent("a");
    await ending.rollbackToCheckpoint(checkpointId).catch(crashed);
    if ((await recordsOf(this.#opened())).some(({ kind }) => kind === "rollback")) return;
    for (let stops = 0; stops < 50; stops++) {
      try {
        return void (await this.#outside.rollbackToCheckpoint(checkpointId));
      } catch (error) {
        if (!isDoubt(error)) throw error;
        await this.#settle();
      }
    }
  }

  async #settle(): Promise<void> {
    for (const call of await this.#outside.getToolCallsInDoubt())
      if (call.settled === undefined) await this.#outside.settleToolCall(call.toolCallId, this.#world.settle(call));
  }

  async end(): Promise<unknown> {
    await goOn(this.#world, crashing(this.#opened), "a");
    return leftBy(this.#world, this.#opened);
  }
}

async function leftBy(world: LinesWorld, opened: Opened<LogPersistenceStorageProvider>): Promise<unknown> {
  const latest = await persistence(linesAgent(world, opened())).agent("a").getLatestCheckpoint();
  const { lastInput, messageHistory, storage } = latest ?? {};
  const output = comparable([lastInput, messageHistory, storage]);
  const { problems, items } = world;
  return { output, problems, items, files: world.folder !== undefined && treeOf(world.folder) };
}

function copyOf(directory: string): string {
  const copy = temporaryFolder();
  cpSync(directory, copy, { recursive: true });
  return copy;
}

function crashed(error: unknown): void {
  if (!isCrash(error) && !isDoubt(error) && !isCausedBy(error, Stopped)) throw error;
}

const resume = fc.record({ from: fc.nat(30), saves: fc.integer({ min: 1, max: 25 }) });
const story: fc.Arbitrary<Story> = fc.record({
  lines: treesOf(1).map((lines) => ({ ...lines, trims: false, automatic: true, agentsAutomatic: true })),
  saves: fc.integer({ min: 2, max: 40 }),
  resumes: fc.array(resume, { minLength: 1, maxLength: 2 }),
  rollbackSaves: fc.nat(12),
});
const limits = { numRuns: cases(1, 100), timeout: 600_000 };

it("a rollback to a resume leaves the same effects as the resume itself", async () => {
  await fc.assert(
    fc.asyncProperty(story, async (made) => {
      const interrupted = await Resumed.begin(made);
      const [last = { from: 0, saves: 1 }, ...before] = made.resumes;
      for (const each of before) await interrupted.resume(each);
      const whole = interrupted.copy();
      if (!(await interrupted.resume(last))) return;
      await whole.resume({ ...last, saves: Infinity });
      await interrupted.goBack(await interrupted.lastResume(), made.rollbackSaves);
      expect(await interrupted.end()).toEqual(await whole.end());
    }),
    limits,
  );
});

it("a rollback to before all resumes leaves the same effects as an undisturbed run", async () => {
  await fc.assert(
    fc.asyncProperty(story, async (made) => {
      const interrupted = await Resumed.begin(made);
      for (const each of made.resumes) if (!(await interrupted.resume(each))) return;
      await interrupted.goBack(await interrupted.firstCheckpoint(), made.rollbackSaves);
      const opened = await memory.open();
      const calm = await undisturbed({ ...made.lines, moves: 0 }, opened, temporaryFolder());
      expect(await interrupted.end()).toEqual(await leftBy(calm, opened));
    }),
    limits,
  );
});
