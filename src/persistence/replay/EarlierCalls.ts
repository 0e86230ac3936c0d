import { mayBeToolCallId } from "../../checkpoint/ids/toolCallId.ts";
import { type AssistantMessage, callIdsIn } from "../../checkpoint/messages/Message.ts";
import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import { asksFor, isOver, type OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import { isSinceVisit, type Visit } from "../../checkpoint/records/Visit.ts";
import {
  type AgentState,
  nextVisitOf,
  type ProjectionBase,
  type RecordedAnswer,
  type RecordedCall,
} from "../../checkpoint/state/AgentState.ts";
import { foldLine } from "../../checkpoint/state/foldTo.ts";
import { answersOfInput } from "../../checkpoint/state/leanState.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import type { Journal } from "../../journal/Journal.ts";

export interface CallEnd {
  readonly outcome: OutcomeRecord;
  readonly output?: unknown;
}

/** The calls before the next node. If a message is executed again, its calls return their first outcomes. */
export class EarlierCalls {
  readonly calls: Map<string, RecordedCall>;
  /** Ids of calls for which the log need not be searched. If such a call has no known record, it was not made. */
  readonly requested = new Set<string>();
  readonly answers: AgentState["answers"];
  readonly base: ProjectionBase | undefined;
  readonly #next: Visit;
  /** Resolves when the whole log was read. */
  reading: Promise<void> | undefined;

  constructor(
    readonly journal: Journal,
    index: LogProjection,
    state: AgentState,
    readonly lane: number,
  ) {
    this.calls = countedCalls(index, state);
    this.answers = state.answers;
    this.base = index.base;
    this.#next = nextVisitOf(state);
  }

  /** Adds the calls of a response that this process received. */
  addAnswer(message: AssistantMessage): void {
    for (const call of callIdsIn(message)) this.requested.add(call);
  }

  /** Reads the calls of a message that can be missing in the restored state. `undefined` if none can be missing. */
  find(message: AssistantMessage): Promise<void> | undefined {
    if (!this.base || this.reading) return this.reading;
    const unknown = callIdsIn(message)
      .filter(mayBeToolCallId)
      .filter((call) => !this.calls.has(call) && !this.requested.has(call));
    if (unknown.length === 0) return undefined;
    return findCalls(this, new Set(unknown));
  }

  /** Returns the outcome of a call in an earlier node. `undefined` if the call must be made. */
  endOf(call: string): Promise<CallEnd> | undefined {
    const outcome = this.outcomeOf(call);
    return outcome && readEnd(this.journal, outcome);
  }

  outcomeOf(call: string): OutcomeRecord | undefined {
    const { outcome, visit = this.#next } = this.calls.get(call) ?? {};
    return !isSinceVisit(visit, this.#next) && isOver(outcome) ? outcome : undefined;
  }
}

/** Returns the calls of the run. If a later run executes a message of this run, its calls get other ids. */
function countedCalls(index: LogProjection, { calls, runId }: AgentState): Map<string, RecordedCall> {
  const begun = [...index.lanes.values()].find((start) => start.runId === runId && start.record.keep === "history");
  const isOwn = ({ intent, outcome }: RecordedCall) => !begun || ((intent ?? outcome)?.lane ?? 0) >= begun.record.lane;
  return new Map([...calls].filter(([, call]) => isOwn(call) && index.counts(call)));
}

/** Finds the calls of a message that the restored state lacks. If necessary, reads the whole log, at most once. */
async function findCalls(earlier: EarlierCalls, calls: ReadonlySet<string>): Promise<void> {
  for (const answer of knownAnswers(earlier).toReversed()) {
    if (!asksFor(answer, calls)) continue;
    const message = (await read(earlier.journal, answer.message)) as AssistantMessage;
    if (callIdsIn(message).some((call) => calls.has(call))) return earlier.addAnswer(message);
  }
  return (earlier.reading ??= readWhole(earlier));
}

/** Returns the responses whose later calls are all known. */
function knownAnswers({ base, answers }: EarlierCalls): readonly RecordedAnswer[] {
  if (!base) return [];
  const named = answersOfInput(base.state);
  return [...answers].flatMap(([key, answer]) => (answer.order > base.order || named.has(key) ? answer : []));
}

async function readWhole({ journal, lane, calls }: EarlierCalls): Promise<void> {
  const { index } = await journal.readAll(() => false);
  const state = foldLine(index, lane);
  if (!state) return;
  for (const [id, call] of countedCalls(index, state)) if (!calls.has(id)) calls.set(id, call);
}

/** The reads in progress, which the calls of one message share. */
const reads = new WeakMap<object, Promise<AgentState | undefined>>();

/** Reads the outcome of a call that this process made in an earlier node. */
export async function readForgotten(
  recorder: Pick<EarlierCalls, "journal" | "lane">,
  call: string,
): Promise<CallEnd | undefined> {
  const { journal, lane } = recorder;
  const read = reads.get(recorder) ?? journal.readAll(() => false).then(({ index }) => foldLine(index, lane));
  reads.set(recorder, read);
  try {
    const outcome = (await read)?.calls.get(call)?.outcome;
    return isOver(outcome) ? await readEnd(journal, outcome) : undefined;
  } finally {
    reads.delete(recorder);
  }
}

async function readEnd(journal: Journal, outcome: OutcomeRecord): Promise<CallEnd> {
  return { outcome, output: outcome.output === undefined ? undefined : await read(journal, outcome.output) };
}

async function read(journal: Journal, slot: StoredValue): Promise<unknown> {
  const references = new Map<string, BlobCell>();
  addBlobReference(slot, references);
  return (await journal.readValues(references)).readValue(slot);
}
