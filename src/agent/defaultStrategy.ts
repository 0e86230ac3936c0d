import { z } from "zod";
import type { AssistantMessage, ToolMessage } from "../checkpoint/messages/Message.ts";
import { kindOf } from "../internal/options/optionSchemas.ts";
import { callModel, callTools, hasToolCalls, textOf } from "./model/nodes.ts";
import { strategy, type Strategy } from "./strategy/Strategy.ts";

export const defaultStrategyName = "default";

let made: Strategy<string, string> | undefined;

/** The default loop of an agent: calls the model and runs its tool calls until the model makes none. */
export function defaultStrategy(): Strategy<string, string> {
  return (made ??= makeDefaultStrategy());
}

function makeDefaultStrategy(): Strategy<string, string> {
  const question = z.custom<string | ToolMessage>((value) => typeof value === "string" || hasRole(value, "tool"), {
    error: ({ input }) => `expected a text or a tool message, received ${typeof input}`,
  });
  const text = z.string({
    error: ({ input }) =>
      `expected a text, received ${kindOf(input)}; pass the message of the user to run(), or give the agent a strategy with this input`,
  });
  const answer = z.custom<AssistantMessage>((value) => hasRole(value, "assistant"), "expected an assistant message");
  return strategy<string, string>(defaultStrategyName, { input: text, output: z.string() }, (graph) => {
    const ask = graph.node("callModel", { input: question }, callModel);
    const act = graph.node("callTools", { input: answer }, callTools);
    graph.edge(graph.start, ask);
    graph.edge(ask, act, { when: hasToolCalls });
    graph.edge(act, ask);
    graph.edge(ask, graph.finish, { map: textOf });
  });
}

function hasRole(value: unknown, role: string): boolean {
  return typeof value === "object" && value !== null && (value as { readonly role?: unknown }).role === role;
}
