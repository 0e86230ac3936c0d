import type { RunnableConfig } from "@langchain/core/runnables";
import { getCheckpointId } from "@langchain/langgraph-checkpoint";
import { InvalidInputError } from "../../../errors/agentErrors.ts";

export interface ThreadConfig {
  readonly threadId: string | undefined;
  /** `undefined` means the root graph, or any graph when listing. */
  readonly namespace: string | undefined;
  /** `undefined` means the latest checkpoint. */
  readonly checkpointId: string | undefined;
}

/** @throws InvalidInputError if a field is not a string */
export function threadConfig(config: RunnableConfig): ThreadConfig {
  const configurable: Readonly<Record<string, unknown>> = config.configurable ?? {};
  return {
    threadId: textIn(configurable, "thread_id"),
    namespace: textIn(configurable, "checkpoint_ns"),
    checkpointId: textIn({ checkpoint_id: getCheckpointId(config) }, "checkpoint_id") || undefined,
  };
}

/** @throws InvalidInputError if the config names no thread */
export function requiredThread({ threadId }: ThreadConfig, what: string): string {
  if (threadId !== undefined) return threadId;
  throw invalid("thread_id", `a thread to store ${what} in, such as { configurable: { thread_id: "order-7" } }`);
}

/** @throws InvalidInputError if the value is not a thread id */
export function checkedThreadId(threadId: unknown): string {
  return textIn({ thread_id: threadId }, "thread_id") ?? "";
}

export function invalid(key: string, expected: string): InvalidInputError {
  return new InvalidInputError("config of a graph", [
    { path: `configurable.${key}`, expected: `expected ${expected}` },
  ]);
}

function textIn(configurable: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = configurable[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw invalid(key, `a string, received ${typeof value}`);
  if (key === "thread_id" && value === "") throw invalid(key, "a string that is not empty");
  return value;
}
