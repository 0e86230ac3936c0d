import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, strategy, tool } from "agent-persistence";
import { sealed } from "agent-persistence/seals";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { z } from "zod";
import { FileKeeper } from "./FileKeeper.ts";

/** A key for tests, which all processes know. */
const privateKey = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, 7)]),
  format: "der",
  type: "pkcs8",
});
const publicKey = createPublicKey(privateKey);

/** @param directory - the place of the newest seals. */
export function sealedStorage(storage: LogPersistenceStorageProvider, directory: string) {
  return sealed(storage, {
    sign: (bytes) => sign(null, bytes, privateKey),
    verify: (bytes, signature) => verify(null, bytes, publicKey, signature),
    keepAt: new FileKeeper(join(directory, "seals")),
    every: 3,
  });
}

/** An agent that books four rooms. */
export function bookingAgent(storage: LogPersistenceStorageProvider, directory: string) {
  const book = tool({
    name: "book",
    description: "",
    inputSchema: z.object({ room: z.string() }),
    effect: "idempotent",
    execute: ({ room }, { toolCallId }) => {
      appendFileSync(join(directory, "ledger"), `${room} ${toolCallId}\n`);
      return room;
    },
  });
  const booking = strategy<string, string>("booking", (graph) => {
    const rooms = (name: string) =>
      graph.node(name, async (input: string, context) => {
        await context.tools.call(book, { room: `${input}${name}` } as never);
        return input;
      });
    const [one, two, three, four] = [rooms("1"), rooms("2"), rooms("3"), rooms("4")];
    graph.edge(graph.start, one);
    graph.edge(one, two);
    graph.edge(two, three);
    graph.edge(three, four);
    graph.edge(four, graph.finish);
  });
  const promptExecutor = { execute: () => Promise.reject(new Error("No model is asked.")) };
  return new AIAgent({ promptExecutor, llmModel: "none", strategy: booking, tools: [book] }).install(Persistence, {
    storage,
  });
}
