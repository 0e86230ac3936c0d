import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import { asksFor, isOver, type OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { AgentState, ProjectionBase, RecordedAnswer, RecordedCall } from "../../checkpoint/state/AgentState.ts";
import { foldLine } from "../../checkpoint/state/foldTo.ts";
import { answersOfInput } from "../../checkpoint/state/leanState.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import type { Journal } from "../../journal/Journal.ts";
import { type CallEnd, callIdsIn, countedCalls } from "./Replay.ts";

export interface KnownCalls {
  readonly journal: Journal;
  readonly lane: number;
  readonly base: ProjectionBase | undefined;
  readonly answers: AgentState["answers"];
  readonly calls: Map<string, RecordedCall>;
  reading: Promise<void> | undefined;
  addAnswer(message: AssistantMessage): void;
}

/** Finds the calls of a message that the restored state lacks. If necessary, reads the whole log, at most once. */
export async function findCalls(earlier: KnownCalls, calls: ReadonlySet<string>): Promise<void> {
  for (const answer of knownAnswers(earlier).toReversed()) {
    if (!asksFor(answer, calls)) continue;
    const message = (await read(earlier.journal, answer.message)) as AssistantMessage;
    if (callIdsIn(message).some((call) => calls.has(call))) return earlier.addAnswer(message);
  }
  return (earlier.reading ??= readWhole(earlier));
}

/** Returns the responses whose later calls are all known. */
function knownAnswers({ base, answers }: KnownCalls): readonly RecordedAnswer[] {
  if (!base) return [];
  const named = answersOfInput(base.state);
  return [...answers].flatMap(([key, answer]) => (answer.order > base.order || named.has(key) ? answer : []));
}

async function readWhole({ journal, lane, calls }: KnownCalls): Promise<void> {
  const { index } = await journal.readAll(() => false);
  const state = foldLine(index, lane);
  if (!state) return;
  for (const [id, call] of countedCalls(index, state)) if (!calls.has(id)) calls.set(id, call);
}

/** The reads in progress, which the calls of one message share. */
const reads = new WeakMap<object, Promise<AgentState | undefined>>();

/** Reads the outcome of a call that this process made in an earlier node. */
export async function readForgotten(
  recorder: Pick<KnownCalls, "journal" | "lane">,
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

export async function readEnd(journal: Journal, outcome: OutcomeRecord): Promise<CallEnd> {
  return { outcome, output: outcome.output === undefined ? undefined : await read(journal, outcome.output) };
}

async function read(journal: Journal, slot: StoredValue): Promise<unknown> {
  const references = new Map<string, BlobCell>();
  addBlobReference(slot, references);
  return (await journal.readValues(references)).readValue(slot);
}
