import type { AddressInfo } from "node:net";
import { chatPage } from "./chatPage.ts";
import { chatServer } from "./chatServer.ts";
import { openDesk } from "./desk.ts";

/**
 * A chat server: `server.ts <directory> [kill | port]`. It prints its port. With `kill`, the process is killed when the
 * money has been paid, before the tool returns.
 */
const [, , directory = ".agent-persistence", how = "0"] = process.argv;
const afterRefund = how === "kill" ? () => process.kill(process.pid, "SIGKILL") : () => {};
// A real model would be slow enough for a client to come back in time.
let clientIsBack = () => {};
const patience = new Promise<void>((resolve) => (clientIsBack = resolve));
const desk = openDesk(directory, { afterRefund, patience });

// Continues what the last process has left, also if no client comes back for it.
for await (const { agentId } of desk.unfinished()) await desk.for(agentId).resumeStream().catch(console.error);

const server = chatServer(desk, { script: chatPage, onAttach: clientIsBack });
server.listen(Number(how) || 0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
