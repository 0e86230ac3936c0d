import { appendFileSync, existsSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { durableAgent } from "agent-persistence/ai-sdk";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { z } from "zod";
import { answersIn, calling, scriptedModel, text } from "../support/scriptedModel.ts";
import type { Sdk } from "../support/sdks.ts";

/**
 * One process of a desk that refunds two orders at once and then a third one; a model request fails in between. It is killed
 * at the moments that are named, in their order, one in each process; the process that is not killed prints how the run ended.
 */
const [directory = "", version = "", how = "", ...moments] = process.argv.slice(2);
const file = (name: string) => join(directory, name);
const linesOf = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), "utf8").trim().split("\n") : []);
const moment = moments[linesOf("killed").length];

function reach(reached: string): void {
  if (moment !== reached) return;
  appendFileSync(file("killed"), `${moment}\n`);
  process.kill(process.pid, "SIGKILL");
}

// What is used of it is in both versions.
const ai = (await import(version === "7" ? "ai7" : "ai")) as Sdk["ai"];
const scripted = scriptedModel(
  [
    [calling("refund", { id: "1" }), calling("refund", { id: "2" })],
    [calling("refund", { id: "3" })],
    text("All are refunded."),
  ],
  { specificationVersion: version === "7" ? "v4" : "v3" },
);
const overloaded = new ai.APICallError({
  message: "overloaded",
  url: "test",
  requestBodyValues: {},
  statusCode: 529,
  responseHeaders: { "retry-after-ms": "1" },
});

/** The request for the third refund fails when it is made first, and the AI SDK makes it again. */
function request(options: Parameters<typeof answersIn>[0]): number {
  const answer = answersIn(options);
  const fails = answer === 1 && !linesOf("asked").includes("1 fails");
  appendFileSync(file("asked"), fails ? "1 fails\n" : `${answer}\n`);
  if (fails) throw overloaded;
  return answer;
}

const model: typeof scripted = {
  ...scripted,
  doGenerate: async (options) => {
    const answer = request(options);
    reach(`in answer ${answer}`);
    return scripted.doGenerate(options);
  },
  doStream: async (options) => {
    const answer = request(options);
    const { stream } = await scripted.doStream(options);
    let parts = 0;
    // One is killed with its first piece passed on.
    const counted = new TransformStream({
      transform(part, controller) {
        if (++parts > 4) reach(`in answer ${answer}`);
        controller.enqueue(part);
      },
    });
    return { stream: stream.pipeThrough(counted) };
  },
};

const refund = ai.tool({
  inputSchema: z.object({ id: z.string() }),
  needsApproval: ({ id }) => {
    reach(`asked for ${id}`);
    return false;
  },
  execute: async ({ id }, { toolCallId }) => {
    reach(`before ${id}`);
    appendFileSync(file("refunded"), `${id} ${toolCallId}\n`);
    reach(`after ${id}`);
    return { refund: id };
  },
});

const desk = durableAgent(
  { storage: new FilePersistenceStorageProvider({ directory: file("agents") }) },
  (durable) =>
    new ai.ToolLoopAgent({
      id: "desk",
      model: durable.model(model),
      tools: durable.tools(
        { refund },
        {
          refund: {
            probe: (_input, { toolCallId }) =>
              linesOf("refunded").some((line) => line.endsWith(toolCallId))
                ? { status: "done", output: { refund: "found" } }
                : "not-done",
          },
        },
      ),
    }),
);

const order = desk.for("order");
const call = { prompt: "Refund all." };
const said = how === "stream" ? await (await order.stream(call)).text : (await order.generate(call)).text;
writeSync(1, JSON.stringify({ said, refunded: linesOf("refunded"), asked: linesOf("asked") }));
