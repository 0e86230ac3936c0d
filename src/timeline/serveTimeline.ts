import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import type { AgentInspector } from "../inspect/AgentInspector.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import { timelineOptionShape, type TimelineOptions } from "./options/TimelineOptions.ts";
import { TimelineRequests } from "./server/TimelineRequests.ts";

/** What is served, and where. */
export interface ServeTimelineOptions extends TimelineOptions {
  /** The port on the loopback interface. Default 0: one that is free. */
  readonly port?: number | undefined;
  /** How long to wait before looking for news, in milliseconds. Default 500. */
  readonly everyMs?: number | undefined;
}

/** A server that runs. */
export interface TimelineServer {
  /** The address of the list of agents, with the token without which nothing is answered. */
  readonly url: string;
  /** The address of one agent's page. */
  urlOf(agentId: string): string;
  /** Ends the server and every connection. */
  close(): Promise<void>;
}

const schema = strictOptions({
  ...timelineOptionShape,
  port: z.int().min(0).max(65_535).optional(),
  everyMs: z.int().positive().optional(),
});

/**
 * Serves the timelines of a storage's agents to browsers on this machine, and tells open pages what is new. It listens on
 * 127.0.0.1 alone, and answers only addresses that begin with a random token, so that neither another machine nor another
 * web page can read them.
 *
 * @throws InvalidInputError if an option has a value that it cannot have.
 * @throws Error of Node's, such as `EADDRINUSE`, if it cannot listen.
 */
export async function serveTimeline(
  inspector: AgentInspector,
  options: ServeTimelineOptions = {},
): Promise<TimelineServer> {
  const checked = checkSchema(schema, options, "options of a timeline server") as ServeTimelineOptions;
  const { port = 0, everyMs = 500, ...shown } = checked;
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const requests = new TimelineRequests(inspector, shown, (server.address() as AddressInfo).port, everyMs);
  server.on("request", (request, response) => void requests.answer(request, response));
  return {
    url: requests.url,
    urlOf: (agentId) => requests.urlOf(agentId),
    close: async () => {
      requests.close();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
