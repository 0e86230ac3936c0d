import type { LanguageModelV3 } from "@ai-sdk/provider";
import { stepCountIs, tool, ToolLoopAgent } from "ai";
import { durableAgent } from "agent-persistence/ai-sdk";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { join } from "node:path";
import { z } from "zod";
import { messageOf } from "../message.ts";
import { diskBytes } from "../measure/storedBytes.ts";

/** What a step of an agent of the AI SDK takes that makes one call, with a result of 2 KB, on files. */
export interface AiSdkStepFigures {
  readonly appends: number;
  /** Bytes on disk ÷ bytes of the step's messages: the call, and its result. */
  readonly bytes: number;
}

const [few, many] = [100, 300];

/** What a long run takes above a short one. */
export async function aiSdkSteps(directory: string): Promise<AiSdkStepFigures> {
  const [short, long] = [await run(few, join(directory, "short")), await run(many, join(directory, "long"))];
  return {
    appends: (long.appends - short.appends) / (many - few),
    bytes: (long.diskBytes - short.diskBytes) / (long.messageBytes - short.messageBytes),
  };
}

interface RunFigures {
  readonly appends: number;
  readonly diskBytes: number;
  readonly messageBytes: number;
}

async function run(steps: number, directory: string): Promise<RunFigures> {
  const storage = new FilePersistenceStorageProvider({ directory });
  const find = tool({
    inputSchema: z.object({ step: z.number() }),
    execute: ({ step }) => messageOf(step).content,
  });
  const agent = durableAgent(
    { storage },
    (durable) =>
      new ToolLoopAgent({
        model: durable.model(callingModel(steps)),
        tools: durable.tools({ find }, { find: { effect: "idempotent" } }),
        stopWhen: stepCountIs(steps + 1),
      }),
  );
  const { response } = await agent.for("bench").generate({ prompt: "Find them." });
  let appends = 0;
  for await (const _ of storage.log.read("bench")) appends++;
  await storage.log.close();
  const messages = response.messages.slice(0, 2 * steps).map((message) => JSON.stringify(message));
  return {
    appends,
    // Room that is kept for the end of a log is no part of what was written.
    diskBytes: await diskBytes(join(directory, "tasks")),
    messageBytes: messages.reduce((sum, message) => sum + Buffer.byteLength(message), 0),
  };
}

/** A model that makes a call in each step, and then answers. */
function callingModel(steps: number): LanguageModelV3 {
  return {
    specificationVersion: "v3",
    provider: "bench",
    modelId: "calling",
    supportedUrls: {},
    doGenerate: async ({ prompt }) => {
      const step = 1 + prompt.filter(({ role }) => role === "tool").length;
      const call = {
        type: "tool-call",
        toolCallId: `call-${step}`,
        toolName: "find",
        input: `{"step":${step}}`,
      } as const;
      return {
        content: step > steps ? [{ type: "text", text: "Done." }] : [call],
        finishReason: { unified: step > steps ? "stop" : "tool-calls", raw: undefined },
        usage: {
          inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
          outputTokens: { total: 5, text: 5, reasoning: undefined },
        },
        warnings: [],
      };
    },
    doStream: () => Promise.reject(new Error("Nothing is streamed.")),
  };
}
