import { setTimeout as wait } from "node:timers/promises";
import type { LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { durableAgent } from "agent-persistence/ai-sdk";
import { tool, ToolLoopAgent } from "ai";
import { z } from "zod";
import { type StoragePlace, storageAt } from "../../../storage/engines/storageAt.ts";
import { streamsAt } from "../../../streams/kill/streamsAt.ts";
import { answersIn, scriptedModel } from "../support/scriptedModel.ts";

export interface PieceDeskOptions {
  readonly place: StoragePlace;
  readonly turns: number;
  readonly tokens: number;
  /** Whether the last response never ends, because this server is to be killed. */
  readonly hangs: boolean;
  /** Called for each request of the model. */
  readonly onRequest?: () => void;
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

/** An agent whose model writes `<process>:<turn>:<token>` for each token. */
export async function pieceDesk({ place, turns, tokens, hangs, onRequest = () => {} }: PieceDeskOptions) {
  const model = scriptedModel([], { specificationVersion: "v3" });
  async function* parts(turn: number, signal: AbortSignal | undefined): AsyncGenerator<LanguageModelV3StreamPart> {
    yield { type: "stream-start", warnings: [] };
    yield { type: "text-start", id: "t" };
    for (let token = 0; token < tokens; token++) {
      if (token % 10 === 9) await wait(1, undefined, { signal });
      yield { type: "text-delta", id: "t", delta: `${process.pid}:${turn}:${token} ` };
    }
    const isLast = turn === turns - 1;
    if (isLast && hangs) await wait(600_000, undefined, { signal });
    yield { type: "text-end", id: "t" };
    if (!isLast) yield { type: "tool-call", toolCallId: `c${turn}`, toolName: "look", input: "{}" };
    const unified = isLast ? "stop" : "tool-calls";
    yield { type: "finish", finishReason: { unified, raw: unified }, usage };
  }
  model.doStream = async (options) => {
    onRequest();
    const source = parts(answersIn(options), options.abortSignal);
    return {
      stream: new ReadableStream({
        async pull(controller) {
          const { value, done } = await source.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
      }),
    };
  };
  const look = tool({ inputSchema: z.object({}), execute: () => "seen" });
  const [storage, streams] = [await storageAt(place), await streamsAt(place)];
  return durableAgent(
    { storage, streams },
    (durable) =>
      new ToolLoopAgent({
        id: "desk",
        model: durable.model(model),
        tools: durable.tools({ look }, { look: { effect: "none" } }),
        maxRetries: 0,
      }),
  );
}
