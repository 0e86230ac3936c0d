import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { RunStart, BranchResult } from "../../agent/feature/RunRequest.ts";
import { RequestDigest } from "../../agent/model/RequestDigest.ts";
import type { RunSettings, RunStateSeed } from "../../agent/state/RunState.ts";
import type { NextStep } from "../../agent/strategy/StrategyGraph.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { MessageNumbers, NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import { isSameVisit, type Visit } from "../../checkpoint/records/Visit.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type {
  RecordedCheckpoint,
  LineRecording,
  RecordedNested,
  RecordedPart,
  RecordedResponse,
  RecordedStart,
  RecordedState,
} from "../recording/Recording.ts";
import { type FoundDifference, sameValue } from "../results/Divergence.ts";
import { LineRecords } from "../results/LineRecords.ts";
import { ReplayedHistory } from "../results/ReplayedHistory.ts";
import { nextTurn } from "../../internal/nextTurn.ts";

interface Hold {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** A line of the replayed run that has not ended. */
export class ReplayedLine {
  readonly nested = new Set<ReplayedLine>();
  #holds: Hold[] = [];

  constructor(readonly parent?: ReplayedLine) {
    parent?.nested.add(this);
  }

  get isAtRest(): boolean {
    if (this.#holds.length === 0 && this.nested.size === 0) return false;
    return [...this.nested].every((line) => line.isAtRest);
  }

  hold(): Promise<void> {
    return new Promise((resolve, reject) => this.#holds.push({ resolve, reject }));
  }

  release(reason?: { readonly error: unknown }): void {
    const holds = this.#holds;
    this.#holds = [];
    for (const { resolve, reject } of holds) {
      if (reason) reject(reason.error);
      else resolve();
    }
  }

  end(): void {
    this.parent?.nested.delete(this);
  }
}

export function* allLines(line: ReplayedLine): Generator<ReplayedLine> {
  yield line;
  for (const nested of line.nested) yield* allLines(nested);
}

/** Detects when no line of a replayed run can continue, because every line has reached the end of its recording. */
export class LinesAtRest {
  readonly #root: ReplayedLine;
  readonly #onRest: () => void;
  #ticks = 0;
  #isWatching = false;

  constructor(root: ReplayedLine, onRest: () => void) {
    this.#root = root;
    this.#onRest = onRest;
  }

  /** Notes an activity of a line. */
  tick(): void {
    this.#ticks++;
  }

  async watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    for (let seen = -1; this.#root.isAtRest && seen !== this.#ticks;) {
      seen = this.#ticks;
      await nextTurn();
      await nextTurn();
    }
    this.#isWatching = false;
    if (this.#root.isAtRest) this.#onRest();
  }
}

/** The position of a replayed line in its recording. */
export class LineReplay extends ReplayedLine {
  readonly records: LineRecords;
  readonly recorded: LineRecording;
  readonly digests: RequestDigest;
  run: AgentRun | undefined;
  /** The visit of the line. `undefined` before its first node. */
  current: { readonly run: AgentRun; readonly nodeId: string; readonly visit: Visit } | undefined;
  /** The first request of the visit that is not recorded. */
  unrecorded: FoundDifference | undefined;
  joined: ReadonlyMap<string, BranchResult> | undefined;
  /** True from the end of the branches until the node that joins them starts. */
  isJoining = false;
  readonly history = new ReplayedHistory();
  readonly #first: number;
  #part: number;
  /** The history that the current part has replaced. */
  #loaded: readonly Message[] | undefined;
  #at = 0;
  #foreseen: RecordedCheckpoint | undefined;
  readonly #attempts = new WeakMap<RecordedResponse, number>();

  constructor(recorded: LineRecording, sha256: Sha256, parent?: LineReplay) {
    super(parent);
    this.recorded = recorded;
    this.records = new LineRecords(recorded);
    this.digests = new RequestDigest(sha256);
    // The part before a migration ran other code.
    const migrated = recorded.parts.findLastIndex(({ start }) => start?.move === "migration");
    this.#first = Math.max(0, migrated);
    this.#part = this.#first;
  }

  get part(): RecordedPart {
    return this.recorded.parts[this.#part] as RecordedPart;
  }

  get nextPart(): RecordedPart | undefined {
    return this.recorded.parts[this.#part + 1];
  }

  /** Whether the recording has no checkpoint after the current visit, so that the visit may not have finished. */
  get isTail(): boolean {
    return this.#next < 0;
  }

  /** The index of the next checkpoint that was made between two nodes, or -1. */
  get #next(): number {
    const { checkpoints } = this.part;
    let at = this.#at;
    while (checkpoints[at]?.within) at++;
    return at < checkpoints.length ? at : -1;
  }

  get isAtEndOfPart(): boolean {
    return this.#at >= this.part.checkpoints.length;
  }

  /** Returns the position at which the replay of the line starts. */
  startFrom(fresh: RunStart): RunStart {
    const { start, line, settings } = this.part;
    const common = {
      line,
      isRecordedCall: (id: string) => this.records.isRecordedCall(id),
      isRefusedCall: (id: string) => this.records.isRefusedCall(id),
    };
    const { messages = [], numbers = { next: 1 } } = fresh.state;
    const own = start?.state ? recordedSeed(start.state, messages, numbers) : fresh.state;
    const state = settings ? { ...own, settings } : own;
    if (!start) return { ...fresh, ...common, state, visitBase: -line.lane, visitOrdinal: 0 };
    return { ...fresh, ...common, ...this.#positionOf(start, state) };
  }

  /** Moves to the next part with a checkpoint, and returns its start. */
  enterNextPart(run: AgentRun): RunStart {
    this.#at = 0;
    this.#foreseen = undefined;
    this.history.beginPart();
    const from = this.#part + 1;
    do this.#part++;
    while (this.part.checkpoints.length === 0 && this.nextPart);
    const { start, line } = this.part;
    if (!start) throw new TypeError("Only the first part of a line has no start.");
    const { state, loaded } = stateOfParts(run.state, this.recorded.parts.slice(from, this.#part + 1));
    this.#loaded = loaded;
    // The previous part can have started at a join or at an unresolved node.
    const { joined: _joined, unresolved: _unresolved, ...fresh } = run.start as RunStart;
    return {
      ...this.startFrom(fresh),
      line,
      ...this.#positionOf(start, state),
      ...(start.joined !== undefined && this.joined && { joined: this.joined }),
    };
  }

  #positionOf({ nodeId, input, unresolved, visit: [visitBase, visitOrdinal] }: RecordedStart, state: RunStateSeed) {
    const { lines } = this.recorded;
    const recordedOn = lines.map((line) => ({ line, visitBase }));
    return { nodeId, input, ...(unresolved && { unresolved }), state, visitBase, visitOrdinal, recordedOn };
  }

  /** Called when the first node of the line or of a part is known. */
  begin(run: AgentRun): void {
    this.run = run;
    const messages = this.#loaded ?? (this.#part === this.#first ? this.part.start?.state?.messages : undefined);
    this.#loaded = undefined;
    if (!messages && this.#part > this.#first) return;
    this.history.begin(messages ?? run.start?.state.messages?.map(({ message }) => message) ?? []);
  }

  /** Takes the checkpoint after the completed nodes, from which visits are counted, if any. */
  cross(run: AgentRun, next: Pick<NextStep, "nodeId" | "input">): RecordedCheckpoint | undefined {
    const { checkpoints } = this.part;
    const { iteration } = run.state;
    const isHere = (cp: RecordedCheckpoint | undefined) =>
      cp && !cp.within && cp.iteration === iteration && (this.isJoining || !cp.joined);
    let at = this.#next;
    while (checkpoints[at]?.unresolved && isHere(checkpoints[at]) && isHere(checkpoints[at + 1])) at++;
    const found = checkpoints[at];
    const foreseen = this.#foreseen;
    this.#foreseen = undefined;
    if (!found || !isHere(found)) {
      this.#leaveWithin(iteration);
      this.history.takeTrims(run.state.history, checkpoints, this.#upcoming);
      if (foreseen?.nodeId === next.nodeId && sameValue(foreseen.input, next.input)) run.visitBase = foreseen.version;
      return undefined;
    }
    this.#at = at + 1;
    run.visitBase = found.version;
    this.history.compare(run.state.history, checkpoints, this.#at);
    return found;
  }

  /** Takes the remaining checkpoints of the nodes before an iteration. */
  #leaveWithin(iteration: number): void {
    for (let next = this.part.checkpoints[this.#at]; next?.within && next.iteration < iteration;)
      next = this.part.checkpoints[++this.#at];
  }

  /** The number of checkpoints of the part, up to the next checkpoint that was made between two nodes. */
  get #upcoming(): number {
    return this.#next + 1 || this.part.checkpoints.length;
  }

  /** Returns the next checkpoint if the line has more iterations than this checkpoint. */
  missedAt(iteration: number): RecordedCheckpoint | undefined {
    const next = this.part.checkpoints[this.#next];
    return next && next.iteration < iteration ? next : undefined;
  }

  /** Takes the next checkpoint of a running node. @param visit Omitted if the checkpoint continues at another node. */
  crossWithin(run: AgentRun, visit: Visit | undefined): RecordedCheckpoint | undefined {
    const { checkpoints } = this.part;
    const { iteration } = run.state;
    // Logs of earlier releases have an `iteration` that is lower by 1 in a checkpoint that continues at another node.
    const isNow = ({ iteration: at }: RecordedCheckpoint) => at === iteration || (!visit && at === iteration + 1);
    const isOfVisit = (checkpoint: RecordedCheckpoint) =>
      isNow(checkpoint) && !checkpoint.triggered && isSameVisit(checkpoint.visit, visit);
    const until = this.#next;
    const open = checkpoints.slice(this.#at, until < 0 ? undefined : until);
    const at = open.findIndex(isOfVisit);
    const found = open[at];
    if (!found) return undefined;
    this.#at += at + 1;
    if (!found.visit) this.#foreseen = found;
    return found;
  }

  /** Takes the checkpoint of a node whose edges failed. */
  crossUnresolved(): void {
    if (this.part.checkpoints[this.#at]?.unresolved) this.#at++;
  }

  /** Returns the recorded nested line of a branch of the parallel node that the line has reached. */
  branch(key: string, run: AgentRun): LineRecording | undefined {
    return this.#branchesAt(run).findLast(({ branch }) => branch === key)?.line;
  }

  branchesAt(run: AgentRun): readonly string[] {
    return this.#branchesAt(run).flatMap(({ branch }) => branch ?? []);
  }

  /** Returns the recorded branches of a parallel node, which start at the checkpoint of the node's visit. */
  #branchesAt({ visitBase, visitOrdinal }: AgentRun): readonly RecordedNested[] {
    const { start, nested } = this.part;
    const isStart = start && isSameVisit(start.visit, [visitBase, visitOrdinal]);
    if (visitOrdinal > 0 && !isStart) return [];
    const forks = [visitBase, ...(isStart ? [start.version] : [])];
    return nested.filter(({ fork }) => fork !== undefined && forks.includes(fork));
  }

  agent(toolCallId: string): LineRecording | undefined {
    const parts = this.recorded.parts.slice(0, this.#part + 1).toReversed();
    for (const { nested } of parts) {
      const found = nested.find(({ call }) => call === toolCallId);
      if (found) return found.line;
    }
    return undefined;
  }

  /** Returns how often the visit has made a request before. */
  nextAttempt(response: RecordedResponse): number {
    const attempt = this.#attempts.get(response) ?? 0;
    this.#attempts.set(response, attempt + 1);
    return attempt;
  }

  /** Returns the recorded history of a request, without the messages that followed it. */
  expectedAt(answer: Message | undefined): readonly Message[] {
    return this.history.expectedAt(this.part.checkpoints, this.#upcoming, answer);
  }
}

/** The state at the start of a part. */
interface PartState {
  readonly state: RunStateSeed;
  /** The messages that replace the history. `undefined` if the line keeps its history. */
  readonly loaded: readonly Message[] | undefined;
}

/** Returns the state of a line after the changes with which the next parts start. */
function stateOfParts({ history, seed }: AgentRun["state"], parts: readonly RecordedPart[]): PartState {
  let recorded: RecordedState | undefined;
  let settings: RunSettings | undefined;
  for (const part of parts) {
    const { state } = part.start ?? {};
    recorded = state ?? recorded;
    settings = part.settings ?? (state ? undefined : settings);
  }
  const state = recorded ? recordedSeed(recorded, history.entries, history.numbers) : seed;
  return { state: settings ? { ...state, settings } : state, loaded: recorded?.messages };
}

/** Returns the seed of a recorded state. Messages that are the same in the given history keep their numbers. */
function recordedSeed(
  { messages, storage, model, parameters, tools, iteration, decisions }: RecordedState,
  known: readonly NumberedMessage[],
  numbers: MessageNumbers,
): RunStateSeed {
  const numbered = messages.map((message, at) => {
    const before = known[at];
    return before && sameValue(before.message, message) ? before : { number: numbers.next++, message };
  });
  return {
    messages: numbered,
    numbers,
    storage: new Map(storage),
    ...(model !== undefined && tools && { settings: { model, tools, ...(parameters && { parameters }) } }),
    iteration,
    decisions,
  };
}
