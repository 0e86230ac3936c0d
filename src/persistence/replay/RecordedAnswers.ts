import { type InputRequestPlace, requestPlace, visitIn } from "../../agent/feature/ContextBinding.ts";
import { approvalDigest, questionDigest } from "../../agent/context/InputRequest.ts";
import type { ApprovalVerdict } from "../../agent/tool/Tool.ts";
import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { isSameVisit, isSinceVisit, type Visit } from "../../checkpoint/records/Visit.ts";
import type { RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import { askedAgain, nextVisitOf, type AgentState, type RecordedRequest } from "../../checkpoint/state/AgentState.ts";
import type { StatusState } from "../../checkpoint/state/StatusState.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";
import type { InputProblem } from "../../errors/agentErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

/** The recorded end of a request. After a move, the repeated request has another `requestId`. */
export type Reply = { readonly requestId: string } & (
  | {
      readonly answer: unknown;
      readonly by?: string;
      /** True if no checkpoint was made after the answer. */
      readonly isNew: boolean;
    }
  | { readonly rejected: string; readonly by?: string }
  | { readonly expiredAt: string }
);

interface AskedBefore extends Pick<
  RequestRecord,
  "visit" | "id" | "within" | "problems" | "at" | "expiresAt" | "receipts"
> {
  readonly requestId: string;
  readonly shown?: Exclude<ApprovalVerdict, boolean>;
  readonly reply?: Reply;
}

/** The recorded timer of a sleep or of a wait for an event. Times are in milliseconds since 1970. */
export interface RecordedTimer {
  readonly requestId: string;
  readonly at: number;
  /** `Infinity` for a wait for an event without a time limit. */
  readonly dueAt: number;
  readonly receipts: number | undefined;
}

/** The problem if the recorded answer belongs to another question at the same place in the node. */
const otherQuestion: readonly InputProblem[] = [
  { path: "", expected: "an answer to this question: the recorded answer is to another one, and is not used" },
];

/** The recorded answers to requests of the next node, found by place and question, because ids differ after a move. */
export class RecordedAnswers {
  readonly #byPlace = new Map<string, AskedBefore>();
  readonly #used = new Set<AskedBefore>();

  constructor(state: AgentState, reader: ValueReader, sha256: Sha256, status: StatusState) {
    const from = nextVisitOf(state);
    const savedAt = state.checkpoint?.order ?? -1;
    const again = [...state.requests.values()].filter(({ record: { visit } }) => isSinceVisit(visit, from));
    const isAskedAgain = askedAgain(state, status);
    const numbers = new Map<string, number>();
    for (const request of again) {
      const { record } = request;
      const { visit, id, within, request: requestId } = record;
      const question = questionAsked(request, reader, sha256);
      const isCounted = record.question === undefined && id === undefined;
      const ordinal = isCounted ? countUp(numbers, [visit, within, question]) : record.ordinal;
      const reply = replyOf(request, reader, savedAt);
      const shown = record.approval && shownIn(record, reader);
      if (isAskedAgain(request)) continue;
      const isApproval = record.approval !== undefined;
      const place = placeOf(visit, { id, within, question, ordinal }, isApproval);
      this.#byPlace.set(place, { ...record, ...withoutUndefined({ requestId, shown, reply }) });
    }
  }

  of(event: InputRequestEvent): Reply | undefined {
    const asked = this.askedBefore(event);
    if (asked) this.#used.add(asked);
    return asked?.reply;
  }

  /** Returns the recorded timer, whose id differs after a move. `undefined` if the timer is new. */
  timerOf(event: InputRequestEvent): RecordedTimer | undefined {
    const { expiresAt: dueAt = Infinity, at = dueAt, requestId, receipts } = this.askedBefore(event) ?? {};
    if (requestId === undefined) return undefined;
    return { dueAt, at, requestId, receipts };
  }

  /** Returns why a request is open despite a recorded reply. Call it after the node has made all its requests. */
  problemsOf(event: InputRequestEvent): readonly InputProblem[] | undefined {
    const asked = this.askedBefore(event);
    if (asked) return asked.problems;
    const { id, within } = requestPlace(event);
    const isLeft = ({ visit, reply, ...other }: AskedBefore) =>
      isSameVisit(visit, visitIn(event.visit)) &&
      other.id === id &&
      other.within === within &&
      reply !== undefined &&
      !("expiredAt" in reply);
    return [...this.#byPlace.values()].some((other) => !this.#used.has(other) && isLeft(other))
      ? otherQuestion
      : undefined;
  }

  askedBefore(event: InputRequestEvent): AskedBefore | undefined {
    return this.#byPlace.get(placeOf(visitIn(event.visit), requestPlace(event), event.approval !== undefined));
  }
}

/** @param isApproval Separates approvals from requests for input, whose answers must not approve a call. */
function placeOf(visit: Visit, { id, question, ordinal, within }: InputRequestPlace, isApproval: boolean): string {
  const own = id === undefined ? [within ?? "", question, ordinal] : [{ id }, question];
  return JSON.stringify([...visit, ...own, isApproval]);
}

function replyOf(
  { record, reply, repliedAt = 0 }: RecordedRequest,
  reader: ValueReader,
  savedAt: number,
): Reply | undefined {
  if (!reply) return undefined;
  const { expired, rejected, by, request: requestId } = reply;
  if (expired) return { requestId, expiredAt: new Date(record.expiresAt ?? 0).toISOString() };
  if (rejected !== undefined) return withoutUndefined({ requestId, rejected, by });
  return { requestId, answer: reader.read(reply.answer), isNew: repliedAt > savedAt, ...withoutUndefined({ by }) };
}

function shownIn({ prompt, expiresAt }: RequestRecord, reader: ValueReader): Exclude<ApprovalVerdict, boolean> {
  const expires = expiresAt === undefined ? undefined : new Date(expiresAt);
  return withoutUndefined({ prompt: String(reader.read(prompt)), expiresAt: expires });
}

function questionAsked({ record, renamed }: RecordedRequest, reader: ValueReader, sha256: Sha256): string {
  const { approval, question } = record;
  if (renamed && approval) return approvalDigest(approval.tool, reader.read(approval.input), sha256);
  if (question !== undefined) return question;
  // Earlier versions of the library did not record the question.
  const { prompt, schema, waitingFor } = record;
  return questionDigest({ prompt: String(reader.read(prompt)), schema: reader.read(schema), waitingFor }, sha256);
}

function countUp(numbers: Map<string, number>, parts: readonly unknown[]): number {
  const key = JSON.stringify(parts);
  const number = numbers.get(key) ?? 0;
  numbers.set(key, number + 1);
  return number;
}
