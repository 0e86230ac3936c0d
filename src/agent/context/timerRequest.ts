import { z } from "zod";
import { customSchema } from "../../internal/options/optionSchemas.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { askedQuestion, questionDigest } from "./askedQuestion.ts";
import type { TimerRequest } from "./InputRequest.ts";

export const sleepMsSchema: z.ZodType = customSchema(
  "a finite number of milliseconds from 0 on",
  (value) => typeof value === "number" && value >= 0 && value < 8e15,
);

export const sleepUntilSchema: z.ZodType = z.date();

/** @param dueAt milliseconds since 1970. */
export function timerRequest(dueAt: number): TimerRequest {
  const expiresAt = new Date(dueAt);
  return { prompt: `Sleeps until ${expiresAt.toISOString()}.`, schema: z.never(), waitingFor: "timer", expiresAt };
}

/** Returns the digest that all timers share. Their numbers tell them apart, because a repeated node may pass other times. */
export function timerQuestion(sha256: Sha256): string {
  return questionDigest({ ...askedQuestion(timerRequest(0)), prompt: "" }, sha256);
}
