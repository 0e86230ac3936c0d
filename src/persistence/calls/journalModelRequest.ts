import { endsOf, runOf, visitIn, withinOf } from "../../agent/feature/ContextBinding.ts";
import type { ModelRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import type { PromptAnswer } from "../../agent/model/PromptExecutor.ts";
import { ReplayedModelError } from "../../agent/model/ReplayedModelError.ts";
import type { FailedRequest, ModelFailure } from "../../checkpoint/records/callRecords.ts";
import { answerKey, failureKey, type Visit } from "../../checkpoint/records/Visit.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import type { AskedDigest } from "../../agent/model/RequestDigest.ts";
import { describeError } from "../../checkpoint/records/runRecords.ts";

type Next = (event: ModelRequestEvent) => Promise<PromptAnswer>;

interface PlacedRequest {
  readonly event: ModelRequestEvent;
  readonly visit: Visit;
  readonly within: string | undefined;
  readonly node: string;
  readonly asked: AskedDigest;
}

/** Makes a model request, or returns its recorded response. Stores the response before its first tool call. */
export async function journalModelRequest(
  recorder: RunRecorder,
  event: ModelRequestEvent,
  next: Next,
): Promise<PromptAnswer> {
  const within = withinOf(event.context);
  recorder.calls.failures.clear();
  const asked = recorder.requests.of(event, within === undefined ? runOf(event.context).state.history : undefined);
  // Read before the request, because a move closes the context while the model responds.
  const node = event.context.nodeId;
  const request: PlacedRequest = { event, visit: visitIn(event.visit), within, node, asked };
  const known = replayed(recorder, request);
  if (known && "error" in known) return fail(request, known.number, new ReplayedModelError(known.error));
  const answer = known ?? (await ask(recorder, request, next));
  return endsOf(event.context).deliver(placeOf(request), () => answer);
}

/** Throws a recorded error after all earlier results are delivered. */
function fail(request: PlacedRequest, number: number, error: unknown): Promise<never> {
  return endsOf(request.event.context).deliver(failureKey(placeOf(request), number), () => {
    throw error;
  });
}

function replayed(
  recorder: RunRecorder,
  { event, visit, within, asked }: PlacedRequest,
): PromptAnswer | { readonly error: ModelFailure; readonly number: number } | undefined {
  const recorded = recorder.recording?.answer(visit, event.ordinal, within);
  if (!recorded) return undefined;
  if (recorded.asked === undefined || asked.matches(recorded.asked)) {
    const { answer } = recorded;
    recorder.journal.writer.noteAnswer(answer.message, visit, event.ordinal, within, recorder.lane);
    recorder.calls.earlier?.addAnswer(answer.message);
    return answer;
  }
  const number = recorded.failed.findIndex((failed) => asked.matches(failed.asked));
  const failure = recorded.failed[number];
  if (failure) return { error: failure.error, number };
  recorder.recording?.discard(event.context, visit, { recorded: "another model request", found: "a model request" });
  return undefined;
}

async function ask(recorder: RunRecorder, request: PlacedRequest, next: Next): Promise<PromptAnswer> {
  const {
    event,
    asked: { digest: asked },
  } = request;
  const place = placeOf(request);
  const failed = recorder.calls.failedRequests.get(place) ?? [];
  const run = runOf(event.context);
  let answer: PromptAnswer;
  try {
    answer = await next(event);
  } catch (error) {
    const ends = endsOf(event.context);
    const after = ends.last;
    recorder.calls.failedRequests.set(place, [
      ...failed,
      withoutUndefined({ asked, after, error: modelFailure(error) }),
    ]);
    if (event.context.signal.aborted) throw error;
    ends.add(failureKey(place, failed.length));
    return await fail(request, failed.length, error);
  } finally {
    recorder.journal.usage = run.usage;
  }
  recorder.calls.failedRequests.delete(place);
  if (!recorder.closed) record(recorder, request, answer, failed);
  return answer;
}

function record(
  recorder: RunRecorder,
  request: PlacedRequest,
  { message, usage, finishReason: finish }: PromptAnswer,
  failed: readonly FailedRequest[],
): void {
  const { journal, lane } = recorder;
  const {
    event: { ordinal, isHosted, context },
    visit,
    within,
    node,
    asked: { digest: asked },
  } = request;
  const slot = journal.writer.value(message, "the answer of the model");
  journal.append([
    {
      kind: "answer",
      lane,
      visit,
      ordinal,
      ...(within !== undefined && { within }),
      ...(!isHosted && { asked }),
      node,
      message: slot,
      ...withoutUndefined({ usage, finish }),
      ...(failed.length > 0 && { failed }),
    },
  ]);
  endsOf(context).add(placeOf(request));
  journal.writer.noteAnswer(message, visit, ordinal, within, recorder.lane);
  recorder.calls.earlier?.addAnswer(message);
  recorder.answersDurable = journal.durable();
  recorder.answersDurable.catch(() => {});
}

function placeOf({ event: { ordinal }, visit, within }: PlacedRequest): string {
  return answerKey(visit, ordinal, within);
}

/** The maximum length of a recorded field of an error, in characters. */
const longestField = 10_000;

function modelFailure(error: unknown): ModelFailure {
  const { name, message, code } = describeError(error);
  const fields = plainFields(error);
  const own = typeof fields["code"] === "string" ? fields["code"] : undefined;
  const shown = code ?? own;
  return {
    name,
    message,
    ...(shown !== undefined && { code: shown }),
    ...(Object.keys(fields).length > 0 && { fields }),
  };
}

/** Ignores getters that throw, because any value can be thrown. */
function plainFields(error: unknown): Record<string, string | number | boolean> {
  try {
    const own = Object.entries(Object(error) as Record<string, unknown>);
    return Object.fromEntries(own.filter((field): field is [string, string | number | boolean] => isPlain(field[1])));
  } catch {
    return {};
  }
}

function isPlain(value: unknown): boolean {
  if (typeof value === "string") return value.length <= longestField;
  return typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
}
