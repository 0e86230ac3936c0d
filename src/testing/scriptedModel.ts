import { z } from "zod";
import type { PromptExecutor } from "../agent/model/PromptExecutor.ts";
import type { AssistantMessage, ContentPart, Message } from "../checkpoint/messages/Message.ts";
import { ScriptEndedError } from "../errors/testing/ScriptEndedError.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { customSchema } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import { randomId } from "../internal/randomId.ts";

/** One answer of a scripted model. */
export type ScriptedTurn =
  | string
  | { readonly text?: string | undefined; readonly toolCalls: readonly ScriptedToolCall[] };

/** A tool call of a scripted answer; its id is made by the model. */
export interface ScriptedToolCall {
  readonly toolName: string;
  readonly input: unknown;
}

/** How a scripted model answers. */
export interface ScriptedModelOptions {
  /**
   * `repeating`, the default: the provider's ids begin anew in each answer, as those of some real providers do.
   * `unique`: they are new at each request, also when the same is asked again.
   */
  readonly toolCallIds?: "repeating" | "unique" | undefined;
}

const toolCallSchema = strictOptions({ toolName: z.string(), input: z.unknown() });
const callsSchema = strictOptions({ text: z.string().optional(), toolCalls: z.array(toolCallSchema) });
const turnsSchema = z.array(
  customSchema("a turn: text, tool calls, or a function that returns one", (turn) => {
    if (typeof turn === "string" || typeof turn === "function") return true;
    return Array.isArray((turn as { readonly toolCalls?: unknown } | null | undefined)?.toolCalls);
  }),
);
const optionsSchema = strictOptions({ toolCallIds: z.enum(["repeating", "unique"]).optional() });

/**
 * A model that answers from a script. It keeps no state: the number of the model's answers in the history decides which
 * answer comes next, so a run continues with the right one after a crash or a rollback.
 *
 * @param turns an answer each, or what makes it from the history. A request beyond the last rejects with ScriptEndedError.
 */
export function scriptedModel(
  turns: readonly (ScriptedTurn | ((messages: readonly Message[]) => ScriptedTurn))[],
  options: ScriptedModelOptions = {},
): PromptExecutor {
  checkSchema(turnsSchema, turns, "turns of a scripted model");
  checkSchema(optionsSchema, options, "options of a scripted model");
  for (const [at, turn] of turns.entries())
    if (typeof turn === "object") checkSchema(callsSchema, turn, `turn ${at} of a scripted model`);
  return {
    async execute({ messages, abortSignal }) {
      abortSignal.throwIfAborted();
      const at = messages.filter(({ role }) => role === "assistant").length;
      const turn = turns[at];
      if (turn === undefined) throw new ScriptEndedError(turns.length, at);
      const prefix = options.toolCallIds === "unique" ? `call_${randomId()}_` : "call_";
      return { message: messageOf(typeof turn === "function" ? turn(messages) : turn, prefix) };
    },
  };
}

function messageOf(turn: ScriptedTurn, idPrefix: string): AssistantMessage {
  if (typeof turn === "string") return { role: "assistant", content: turn };
  const text: readonly ContentPart[] = turn.text === undefined ? [] : [{ type: "text", text: turn.text }];
  const calls = turn.toolCalls.map(({ toolName, input }, index): ContentPart => ({
    type: "tool-call",
    toolCallId: idPrefix + index,
    toolName,
    input,
  }));
  return { role: "assistant", content: [...text, ...calls] };
}
