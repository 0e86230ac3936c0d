import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import type { AgentInspector } from "../inspect/AgentInspector.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { timelineOptionShape, type TimelineOptions } from "./options/TimelineOptions.ts";
import { TimelineRequests } from "./TimelineRequests.ts";

/** Options of `serveTimeline`. */
export interface ServeTimelineOptions extends TimelineOptions {
  /** The port on the loopback interface. Defaults to 0, which selects a free port. */
  readonly port?: number | undefined;
  /** The polling interval for updates in milliseconds. Defaults to 500. */
  readonly everyMs?: number | undefined;
}

/** A running timeline server. */
export interface TimelineServer {
  /** The URL of the list of agents, with the token that every request needs. */
  readonly url: string;
  /** Returns the URL of an agent's page. */
  urlOf(agentId: string): string;
  /** Closes the server and all connections. */
  close(): Promise<void>;
}

const schema = strictOptions(() => ({
  ...timelineOptionShape,
  port: z.int().min(0).max(65_535).optional(),
  everyMs: z.int().positive().optional(),
}));

/**
 * Serves the timelines of all agents of a storage to browsers on this machine and pushes updates to open pages. Listens
 * only on 127.0.0.1 and requires a random token in each URL, so that other machines and other web pages cannot read the
 * timelines.
 *
 * @example
 * ```ts
 * const server = await serveTimeline(inspector, { port: 8080 });
 * console.log(server.url);
 * await server.close();
 * ```
 *
 * @throws InvalidInputError for an invalid option
 * @throws an Error of Node, such as `EADDRINUSE`, if the server cannot listen
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
