import { appendFileSync } from "node:fs";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { testServer } from "./testServer.ts";

/** Serves an agent through standard input and output. Notes each deed in a file, and then kills the agent or itself. */
const [notes = "", victim = ""] = process.argv.slice(2);
const victims: Readonly<Record<string, number>> = { agent: process.ppid, server: process.pid };

const server = testServer({
  onDeed: ({ tool, id }) => {
    appendFileSync(notes, `${tool} ${id}\n`);
    const processId = victims[victim];
    if (processId !== undefined) process.kill(processId, "SIGKILL");
  },
});
await server.connect(new StdioServerTransport());
