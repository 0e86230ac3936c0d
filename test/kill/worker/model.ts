import type { PromptExecutor } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import type { Halt } from "./Halt.ts";
import { rounds } from "./strategy.ts";
import type { Trace } from "../judge/Trace.ts";
import type { WorkerOptions } from "./WorkerOptions.ts";

/** Two answers a round, each with several tool calls; two of them are alike in everything but their place. */
function turnsOf(round: number): Parameters<typeof scriptedModel>[0] {
  const charge = { toolName: "charge", input: { account: `a${round}`, amount: round } };
  const look = { toolName: "look", input: { account: `a${round}` } };
  const refuse = { toolName: "refuse", input: { account: `r${round}` } };
  const transfer = { toolName: "transfer", input: { account: `t${round}`, amount: 10 + round } };
  return [
    { text: `Round ${round}.`, toolCalls: [charge, look, charge, ...(round % 2 === 0 ? [transfer] : [refuse])] },
    { toolCalls: [{ toolName: "charge", input: { account: `b${round}`, amount: -round } }, look] },
  ];
}

/** The scripted model of the run; it traces each request that reaches it. */
export function tracedModel(toolCallIds: WorkerOptions["toolCallIds"], trace: Trace, halt: Halt): PromptExecutor {
  const model = scriptedModel(Array.from({ length: rounds }, (_, round) => turnsOf(round)).flat(), { toolCallIds });
  return {
    async execute(request) {
      trace.add({ kind: "model", turn: request.messages.filter(({ role }) => role === "assistant").length });
      await halt.pass("model");
      return model.execute(request);
    },
  };
}
