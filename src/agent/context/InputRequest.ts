import { z, toJSONSchema } from "zod";
import { zodSchema, customSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import type { WaitingFor } from "../../checkpoint/status/TaskStatus.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { canonicalText } from "../../checkpoint/values/isSameValue.ts";

/** A request of a node for input from outside the run. */
export interface InputRequest<Answer = unknown> {
  /**
   * Identifies the request within one execution of the node. Set the id if the order of equal requests can change when
   * the node runs again. Requests are equal if their prompt, schema and `waitingFor` are equal. Defaults to the number
   * of the request among equal requests. An answer is valid only for an equal request.
   */
  readonly id?: string | undefined;
  /** The text that is shown to the person or system that answers. */
  readonly prompt: string;
  /** Validates the answer. Its JSON Schema is stored for processes that do not run the node. */
  readonly schema: z.core.$ZodType<Answer>;
  /** Defaults to `user_input`. */
  readonly waitingFor?: Exclude<WaitingFor, "timer" | "event"> | undefined;
  /** When the request expires. Defaults to never. */
  readonly expiresAt?: Date | undefined;
}

/** The request of a sleep, or of a wait for an event. Nobody can answer it. A sleep ends at `expiresAt`. */
export interface TimerRequest extends Omit<InputRequest<never>, "waitingFor"> {
  readonly waitingFor: "timer" | "event";
}

export interface ReceiveOptions<Payload = unknown> {
  readonly schema: z.core.$ZodType<Payload>;
  /** How long to wait for the event, in milliseconds from the first call. Defaults to no limit. */
  readonly timeoutMs?: number | undefined;
}

export const receiveSchema: z.ZodType = strictOptions(() => ({
  name: z.string().min(1),
  schema: zodSchema,
  timeoutMs: z.number().min(0).max(8e15).optional(),
}));

export const inputRequestSchema: z.ZodType = strictOptions(() => ({
  id: z.string().optional(),
  prompt: z.string(),
  schema: zodSchema,
  waitingFor: z.enum(["user_input", "external_api", "human_approval"]).optional(),
  expiresAt: z.date().optional(),
}));

export const sleepMsSchema: z.ZodType = customSchema(
  "a number of milliseconds from 0 to below 8e15",
  (value) => typeof value === "number" && value >= 0 && value < 8e15,
);

export const sleepUntilSchema: z.ZodType = z.date();

/** @param dueAt The end of the sleep, in milliseconds since 1970. */
export function timerRequest(dueAt: number): TimerRequest {
  const expiresAt = new Date(dueAt);
  return { prompt: `Sleeps until ${expiresAt.toISOString()}.`, schema: z.never(), waitingFor: "timer", expiresAt };
}

/** @param dueAt When the wait ends, in milliseconds since 1970. `Infinity` for no limit. */
export function eventRequest(name: string, dueAt: number): TimerRequest {
  const expiry = dueAt === Infinity ? {} : { expiresAt: new Date(dueAt) };
  return { prompt: `Waits for event ${JSON.stringify(name)}.`, schema: z.never(), waitingFor: "event", ...expiry };
}

/** Returns the digest that all timers share. Timers differ by number, because a repeated node can pass another time. */
export function timerQuestion(sha256: Sha256): string {
  return questionDigest({ ...askedQuestion(timerRequest(0)), prompt: "" }, sha256);
}

interface AskedQuestion {
  readonly prompt: string;
  readonly schema: unknown;
  readonly waitingFor: WaitingFor;
}

export function askedQuestion({
  prompt,
  schema,
  waitingFor = "user_input",
}: InputRequest | TimerRequest): AskedQuestion {
  return { prompt, schema: toJSONSchema(schema, { unrepresentable: "any", io: "input" }), waitingFor };
}

/** Returns the digest of a tool name and its unparsed input. An approval is valid only for a call with this digest. */
export function approvalDigest(toolName: string, input: unknown, sha256: Sha256): string {
  return sha256.base64url(canonicalText([toolName, input]) ?? "");
}

/** Returns the SHA-256 of a question in base64url. An answer is valid only for a question with this digest. */
export function questionDigest({ prompt, schema, waitingFor }: AskedQuestion, sha256: Sha256): string {
  return sha256.base64url(canonicalText([prompt, schema, waitingFor]) ?? "");
}
