import {
  AgentBusyError,
  persistence,
  type AIAgent,
  type CheckpointTreeNode,
  type Clock,
  type PendingRequest,
  type PersistenceEvent,
  type RunResult,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter } from "agent-persistence/testing";
import { causesOf, isCausedBy, isCrash, isDoubt } from "../../support/causesOf.ts";
import { type DurableOptions, Stopped } from "../../support/durableAgent.ts";
import { linesAgent } from "./linesAgent.ts";
import { ancestorsIn, answerTo, fateOf, type Found, LinesWorld, type StoredLane } from "./LinesWorld.ts";
import type { LineProcess, RandomLines } from "./randomLines.ts";
import { recordsOf } from "../../support/stored.ts";

type Storage = LogPersistenceStorageProvider;
type Agent = AIAgent<string, string>;

/** How a storage is opened by one process after another, and how a process ends. */
export interface Device {
  /** The storage of the next process. */
  readonly opened: () => Storage;
  /** The storage of a process that ends after so many saves. */
  readonly ending: (saves: number) => Storage;
  /** The process that was to end has ended. */
  readonly ended: () => void;
  /** Time passes on the clocks of the storages. */
  readonly pass: (ms: number) => void;
}

/** Processes that end without a loss. */
export const crashing = (opened: () => Storage): Device => ({
  opened,
  ending: (saves) => crashAfter(opened(), saves) as Storage,
  ended: () => undefined,
  pass: () => undefined,
});

/** Lives through all processes of a run, and others until the run is over. */
export async function liveLines(lines: RandomLines, device: Device): Promise<LinesWorld> {
  const lives = new Lives(lines, device, new LinesWorld(lines));
  for (const process of lines.processes) await lives.process(process);
  await lives.finish();
  return lives.world;
}

/** Lives through the processes of a run, which may then be anywhere. */
export async function livePartly(
  lines: RandomLines,
  device: Device,
  world = new LinesWorld(lines),
): Promise<LinesWorld> {
  const lives = new Lives(lines, device, world);
  for (const process of lines.processes) await lives.process(process);
  return lives.world;
}

/** Goes on with an agent until its run is over, without a disturbance. */
export async function goOn(world: LinesWorld, device: Device, agentId: string): Promise<void> {
  const calm: RandomLines = { ...world.lines, moves: 0, processes: [] };
  await new Lives(calm, device, world, agentId).finish();
}

/** Goes on with an agent in a process that ends after so many saves. */
export async function goPartly(world: LinesWorld, device: Device, agentId: string, saves: number): Promise<void> {
  const calm: RandomLines = { ...world.lines, moves: 0, processes: [] };
  await new Lives(calm, device, world, agentId).process({ saves });
}

/** The same without a disturbance: every answer is given when all wait. */
export async function undisturbed(lines: RandomLines, opened: () => Storage, folder?: string): Promise<LinesWorld> {
  const calm: RandomLines = { ...lines, moves: 0, processes: [], answers: ["later"] };
  const lives = new Lives(calm, crashing(opened), new LinesWorld(calm, false));
  lives.world.folder = folder;
  await lives.finish();
  return lives.world;
}

class Lives {
  readonly world: LinesWorld;
  readonly #lines: RandomLines;
  readonly #device: Device;
  #asked = 0;
  /** Answers that come with the next resume. */
  #withResume = new Map<string, PendingRequest>();

  constructor(
    lines: RandomLines,
    device: Device,
    world: LinesWorld,
    readonly agentId = "a",
  ) {
    this.#lines = lines;
    this.#device = device;
    this.world = world;
  }

  /** A process that ends in the middle, and what is done before the next. */
  async process({ saves, backTo, prunedTo }: LineProcess): Promise<void> {
    const storage = this.#device.ending(saves);
    await this.#run(storage)
      .catch((error: unknown) => this.#passIfBusy(error))
      .catch(crashed);
    this.#device.ended();
    if (backTo !== undefined) while (!(await this.#isDone(() => this.#goBack(backTo))));
    if (prunedTo !== undefined) await this.#prune(prunedTo + 2);
  }

  /** Processes that do not end before all lines have. */
  async finish(): Promise<void> {
    for (let rounds = 0; rounds < 200; rounds++) {
      let isOver = false;
      const run = async () => {
        const result = await this.#run(this.#device.opened()).catch(stopped);
        isOver = result?.status === "completed";
      };
      if ((await this.#isDone(run)) && isOver) return;
    }
    throw new Error("The run does not end.");
  }

  /** @returns false when it has to be done again: somebody had to say what became of calls, or had to wait. */
  async #isDone(action: () => Promise<unknown>): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (error) {
      if (isDoubt(error)) await this.#settle();
      else this.#passIfBusy(error);
      return false;
    }
  }

  /** After a loss of power nobody knows at once whether an owner still lives. */
  #passIfBusy(error: unknown): void {
    if (!(error instanceof AgentBusyError)) throw error;
    this.#device.pass(error.retryAfterMs);
  }

  async #settle(): Promise<void> {
    const outside = persistence(this.#agent(this.#device.opened())).agent(this.agentId);
    for (const call of await outside.getToolCallsInDoubt())
      if (call.settled === undefined) await outside.settleToolCall(call.toolCallId, this.world.settle(call));
  }

  #agent(storage: Storage, options?: Pick<DurableOptions, "clock" | "onEvent">): Agent {
    return linesAgent(this.world, storage, options);
  }

  async #run(storage: Storage): Promise<RunResult<string>> {
    this.world.beginProcess(await foundIn(this.#device.opened(), this.agentId));
    const live = new LiveAnswers(this.#agent(storage, { clock: eagerClock() }), {
      nextAnswer: () => this.#nextAnswer(),
      answer: (agent, request) => this.#answer(agent, request),
      agentId: this.agentId,
    });
    const agent = this.#agent(storage, { onEvent: (event) => live.see(event) });
    this.world.onStep = () => live.step();
    try {
      const answers = Object.fromEntries(
        [...this.#withResume.values()].map(({ requestId, prompt, kind }) => [requestId, replyTo(prompt, kind)]),
      );
      const accepted = [...this.#withResume.values()];
      this.#withResume.clear();
      const { agentId } = this;
      const given = accepted.length > 0 && { answers };
      // The run of a fork may be another one.
      const resumes = given || agentId !== "a";
      const result = await (resumes ? agent.resume({ agentId, ...given }) : agent.run("go", { agentId, runId: "r" }));
      for (const { requestId } of accepted) this.world.accepted.push(requestId);
      await live.end();
      if (result.status === "waiting") await this.#answerAll(result.requests.filter((each) => !this.#isTaken(each)));
      return result;
    } finally {
      this.world.onStep = () => undefined;
      await live.end();
    }
  }

  /** Nobody answers while the run goes on: each is answered before the next, or with it. */
  async #answerAll(requests: readonly PendingRequest[]): Promise<void> {
    for (const [at, request] of requests.entries()) {
      const when = this.#nextAnswer();
      // At least one is answered, so that each round leads further.
      if (fateOf(request.prompt) === "expired") continue;
      if (when === "resume" && fateOf(request.prompt) === "answered") this.#withResume.set(request.requestId, request);
      else if (when !== 0 || at === requests.length - 1)
        await this.#answer(this.#agent(this.#device.opened()), request);
    }
  }

  #isTaken({ requestId }: PendingRequest): boolean {
    return this.world.accepted.includes(requestId);
  }

  #nextAnswer(): number | "later" | "resume" {
    const { answers } = this.#lines;
    return answers[this.#asked++ % answers.length] ?? "later";
  }

  async #answer(agent: Agent, request: PendingRequest): Promise<void> {
    const { requestId, prompt, kind } = request;
    const outside = persistence(agent).agent(this.agentId);
    const fate = fateOf(prompt);
    if (fate === "expired") return this.world.letExpire();
    if (fate === "rejected") await outside.reject(requestId, "no");
    else await outside.answer(requestId, replyTo(prompt, kind));
    this.world.accepted.push(requestId);
  }

  async #prune(maxCheckpoints: number): Promise<void> {
    const { agentId } = this;
    await persistence(this.#agent(this.#device.opened())).prune({ agentId, policy: { maxCheckpoints } });
  }

  async #goBack(to: number): Promise<void> {
    const outside = persistence(this.#agent(this.#device.opened())).agent(this.agentId);
    const reached = reachedIn(await outside.checkpointTree());
    // To go to another one would be a redo, which makes no call again: the run would not end as if nothing had happened.
    const checkpoints = (await outside.getCheckpoints()).filter(
      ({ checkpointId, branch, agentPath }) => branch || agentPath.length > 0 || reached.has(checkpointId),
    );
    const target = checkpoints[to % Math.max(1, checkpoints.length)]?.checkpointId ?? "none";
    this.#withResume.clear();
    await outside.rollbackToCheckpoint(target).catch(async (error: unknown) => {
      const ancestors = ancestorsIn(error);
      const other = ancestors[to % Math.max(1, ancestors.length)];
      if (other !== undefined) await outside.rollbackToCheckpoint(other);
    });
  }
}

/** The checkpoints that lead to a head of the agent. */
function reachedIn(tree: readonly CheckpointTreeNode[]): ReadonlySet<string> {
  const reached = new Set<string>();
  const leads = ({ checkpointId, isHead, children }: CheckpointTreeNode): boolean => {
    const doesLead = children.map(leads).includes(true) || isHead;
    if (doesLead) reached.add(checkpointId);
    return doesLead;
  };
  tree.forEach(leads);
  return reached;
}

const replyTo = (prompt: string, kind: PendingRequest["kind"]): unknown =>
  kind === "approval" ? { approved: true } : answerTo(prompt);

interface Answering {
  readonly agentId: string;
  readonly nextAnswer: () => number | "later" | "resume";
  readonly answer: (agent: Agent, request: PendingRequest) => Promise<void>;
}

/** Answers in the process that runs, each so many steps after its question. */
class LiveAnswers {
  readonly #agent: Agent;
  readonly #lives: Answering;
  readonly #seen = new Set<string>();
  readonly #due: { readonly request: PendingRequest; readonly at: number }[] = [];
  readonly #started = new Set<Promise<void>>();
  #steps = 0;

  constructor(agent: Agent, lives: Answering) {
    this.#agent = agent;
    this.#lives = lives;
  }

  see(event: PersistenceEvent): void {
    if (event.type === "request_opened") this.#start(this.#plan());
    this.step();
  }

  step(): void {
    this.#steps++;
    for (const { request, at } of this.#due.splice(0)) {
      if (at > this.#steps) this.#due.push({ request, at });
      else this.#start(this.#lives.answer(this.#agent, request));
    }
  }

  /** Everything that was begun has ended. */
  async end(): Promise<void> {
    for (const work of this.#started) await work;
  }

  async #plan(): Promise<void> {
    for await (const request of persistence(this.#agent).listRequests()) {
      if (this.#seen.has(request.requestId) || request.agentId !== this.#lives.agentId) continue;
      this.#seen.add(request.requestId);
      const steps = this.#lives.nextAnswer();
      if (typeof steps === "number") this.#due.push({ request, at: this.#steps + steps });
    }
  }

  #start(work: Promise<void>): void {
    this.#started.add(work.catch(gone));
  }
}

/** Time that passes as soon as something waits for it. */
function eagerClock(): Clock {
  let time = 0;
  return {
    now: () => Date.UTC(2026, 0, 1) + time,
    monotonic: () => time,
    after(ms, callback) {
      const waiting = setImmediate(() => {
        time += ms;
        callback();
      });
      return () => clearImmediate(waiting);
    },
  };
}

async function foundIn(storage: Storage, agentId: string): Promise<Found> {
  const lanes = new Map<number, StoredLane>();
  const ended = new Set<string>();
  for (const record of await recordsOf(storage, agentId)) {
    if (record.kind === "outcome" && "output" in record)
      ended.add((record as unknown as { readonly call: string }).call);
    if (record.kind !== "checkpoint") continue;
    const { lane, version, visit, ended: hasEnded, status } = record as unknown as StoredCheckpoint;
    lanes.set(lane, { base: visit?.[0] ?? version, ended: hasEnded === true || status !== undefined });
  }
  return { lanes, ended };
}

interface StoredCheckpoint {
  readonly lane: number;
  readonly version: number;
  readonly visit?: readonly [number, number];
  readonly ended?: true;
  readonly status?: string;
}

/** What was asked is not asked any more, or the process has ended. */
function gone(error: unknown): void {
  const { code } = error as { readonly code?: string };
  if (code === "request_not_found" || code === "request_answered" || code === "agent_busy") return;
  crashed(error);
}

function stopped(error: unknown): undefined {
  if (!isStop(error)) throw error;
}

function crashed(error: unknown): void {
  if (!isCrash(error) && !isStop(error) && !isDoubt(error)) throw error;
}

/** The failure of a called agent that was read back from the log has no cause: only nodes that stop fail one. */
function isStop(error: unknown): boolean {
  return isCausedBy(error, Stopped) || causesOf(error).some(({ code }) => code === "tool_failed");
}
