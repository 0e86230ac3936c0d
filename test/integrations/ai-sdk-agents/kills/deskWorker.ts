import { appendFileSync, existsSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { tool, ToolLoopAgent } from "ai";
import { durableAgent } from "agent-persistence/ai-sdk";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { z } from "zod";
import { calling, scriptedModel, text } from "../support/scriptedModel.ts";

/**
 * One process of a desk that refunds two orders at once and then a third one. It is killed at the moments that are named, in
 * their order, one in each process; the process that is not killed prints how the run ended.
 */
const [directory = "", how = "", ...moments] = process.argv.slice(2);
const file = (name: string) => join(directory, name);
const linesOf = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), "utf8").trim().split("\n") : []);
const killedBefore = linesOf("killed").length;

function reach(moment: string): void {
  if (moments[killedBefore] !== moment) return;
  appendFileSync(file("killed"), `${moment}\n`);
  process.kill(process.pid, "SIGKILL");
}

const script = [
  [calling("refund", { id: "1" }), calling("refund", { id: "2" })],
  [calling("refund", { id: "3" })],
  text("All are refunded."),
];
const scripted = scriptedModel(script);
// The script goes on where the processes before have left it.
scripted.asked.push(...linesOf("answered").map(() => ({ prompt: [] })));

const refund = tool({
  inputSchema: z.object({ id: z.string() }),
  execute: async ({ id }, { toolCallId }) => {
    const answered = linesOf("answered").length;
    if (scripted.asked.length > answered) appendFileSync(file("answered"), "answered\n");
    reach(`before ${id}`);
    appendFileSync(file("refunded"), `${id} ${toolCallId}\n`);
    reach(`after ${id}`);
    return { refund: id };
  },
});

const desk = durableAgent(
  { storage: new FilePersistenceStorageProvider({ directory: file("agents") }) },
  (durable) =>
    new ToolLoopAgent({
      id: "desk",
      model: durable.model(scripted),
      tools: durable.tools(
        { refund },
        {
          refund: {
            effect: "reversible",
            rollback: ({ id }, { output, toolCallId }) =>
              appendFileSync(file("reverted"), `${id} ${output.refund} ${toolCallId}\n`),
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
const report = await desk.agent("order").getCheckpoints();
writeSync(1, JSON.stringify({ said, checkpoints: report.length, refunded: linesOf("refunded") }));
