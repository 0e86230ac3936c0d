import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import type { RecordedInput, RecordedReply } from "../recording/Recording.ts";
import { unaskedApproval } from "../results/repliedTo.ts";
import type { TraceWait } from "../trace/RunTrace.ts";
import { viewedValue } from "./viewedValue.ts";

/** A request for input of a replayed run, with the values of the run. */
export interface SeenWait extends Pick<TraceWait, "kind" | "tool" | "rejection"> {
  readonly prompt: unknown;
  readonly answer?: unknown;
  /** `undefined` while the request has no answer. */
  readonly state?: TraceWait["state"];
}

type SeenEnd = Pick<SeenWait, "state" | "answer" | "rejection">;

/** Returns a request with its recorded reply. The prompt of a timer contains its time, so the recorded one counts. */
export function recordedWait(event: InputRequestEvent, { prompt, reply }: RecordedInput): SeenWait {
  const wait = begunWait(event);
  return { ...wait, prompt, ...(reply && recordedEnd(wait.kind, reply)) };
}

/** Adds a request that is not recorded, once its reply is known. */
export async function addedAtEnd(
  waits: SeenWait[],
  event: InputRequestEvent,
  next: () => Promise<unknown>,
): Promise<unknown> {
  const wait = begunWait(event);
  try {
    const answer = await next();
    if (answer !== unaskedApproval) waits.push({ ...wait, ...answeredEnd(wait.kind, answer) });
    return answer;
  } catch (error) {
    const { reason } = Object(error) as { readonly reason?: unknown };
    if (typeof reason === "string") waits.push({ ...wait, state: "rejected", rejection: reason });
    throw error;
  }
}

/** @param isOver whether the node has completed */
export function shownWait({ state, ...wait }: SeenWait, isOver: boolean): TraceWait {
  const answer = "answer" in wait ? { answer: viewedValue(wait.answer) } : {};
  return { ...wait, state: state ?? (isOver ? "left" : "open"), prompt: viewedValue(wait.prompt), ...answer };
}

function begunWait({ approval, timer, request: { prompt } }: InputRequestEvent): SeenWait {
  if (approval) return { kind: "approval", tool: approval.call.tool.name, prompt };
  if (timer) return { kind: timer.event ? "event" : "timer", prompt };
  return { kind: "input", prompt };
}

function recordedEnd(kind: TraceWait["kind"], { answer, rejected, expiredAt }: RecordedReply): SeenEnd {
  if (rejected !== undefined) return { state: "rejected", rejection: rejected };
  if (expiredAt !== undefined && kind !== "timer") return { state: "expired" };
  return answeredEnd(kind, answer);
}

function answeredEnd(kind: TraceWait["kind"], answer: unknown): SeenEnd {
  return kind === "timer" ? { state: "fired" } : { state: "answered", answer };
}
