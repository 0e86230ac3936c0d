import { AIAgent, tool } from "agent-persistence";
import { aiSdkExecutor, type AiSdkLanguageModel, type Durable } from "agent-persistence/ai-sdk";
import { z } from "zod";
import type { Sdk } from "../ai-sdk-agents/support/sdks.ts";
import type { Turn, Wire } from "./wire/Wire.ts";

// The providers warn of what they ignore, and the AI SDK prints it.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** A conversation in which the model reasons, the provider runs a tool, and calls are made one by one and in parallel. */
export const turns: readonly Turn[] = [
  {
    reasoning: "The order has to be found.",
    hosted: "order 7",
    text: "I look for it.",
    calls: [{ toolName: "find", input: { id: "7" } }],
  },
  {
    reasoning: "It can be refunded.",
    text: "I refund both.",
    calls: [
      { toolName: "refund", input: { id: "7" } },
      { toolName: "refund", input: { id: "8" } },
    ],
  },
  { text: "Both are refunded." },
];

export const prompt = "Refund orders 7 and 8.";
const instructions = "You run the refund desk.";
const order = z.object({ id: z.string() });

interface DeskOptions {
  readonly sdk: Sdk;
  readonly wire: Wire;
  readonly url: string;
  readonly refund: (id: string, key: string) => void;
  readonly needsApproval?: boolean;
}

/** Defines a refund desk on a model of a provider. */
export function refundDesk({ sdk, wire, url, refund, needsApproval = false }: DeskOptions) {
  const { ToolLoopAgent } = sdk.ai;
  const find = sdk.ai.tool({ inputSchema: order, execute: ({ id }) => ({ id, cents: 900 }) });
  const refundTool = sdk.ai.tool({
    inputSchema: order,
    needsApproval,
    execute: ({ id }, { toolCallId }) => {
      refund(id, toolCallId);
      return `refunded ${id}`;
    },
  });
  return ({ model, tools }: Pick<Durable, "model" | "tools">) =>
    new ToolLoopAgent({
      model: model(wire.model(sdk, url)),
      instructions,
      tools: {
        ...tools({ find, refund: refundTool }, { find: { effect: "none" }, refund: { effect: "idempotent" } }),
        ...wire.hostedTools(sdk),
      },
    });
}

/** The same desk as an agent of this package. It offers no tool of the provider. */
export function refundAgent({ sdk, wire, url, refund }: DeskOptions): AIAgent {
  // The models of the wires are objects.
  const model = wire.model(sdk, url) as AiSdkLanguageModel;
  const findTool = tool({
    name: "find",
    description: "Finds an order.",
    inputSchema: order,
    effect: "none",
    execute: ({ id }) => ({ id, cents: 900 }),
  });
  const refundTool = tool({
    name: "refund",
    description: "Refunds an order.",
    inputSchema: order,
    effect: "idempotent",
    execute: ({ id }, { toolCallId }) => {
      refund(id, toolCallId);
      return `refunded ${id}`;
    },
  });
  return new AIAgent({
    promptExecutor: aiSdkExecutor(model),
    llmModel: model.modelId,
    systemPrompt: instructions,
    tools: [findTool, refundTool],
  });
}
