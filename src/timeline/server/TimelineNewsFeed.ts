import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentInspector } from "../../inspect/AgentInspector.ts";
import type { TimelineItem, TimelineNews } from "../data/TimelineData.ts";
import type { TimelineReader } from "../data/TimelineReader.ts";

/**
 * Tells one open page what is new. The first news is all that there is: the log may have grown since the page was made.
 * Afterwards each is the items from the first one that changed, and what is kept of the others is their digests.
 */
export class TimelineNewsFeed {
  readonly #reader: () => TimelineReader;
  #sent: readonly string[] = [];

  constructor(reader: () => TimelineReader) {
    this.#reader = reader;
  }

  /**
   * Looks again once records have come, and rests for several times as long as a look takes: a long log costs more. Ends when
   * the agent is gone.
   */
  async *follow(
    inspector: Pick<AgentInspector, "agent">,
    agentId: string,
    everyMs: number,
    signal: AbortSignal,
  ): AsyncGenerator<TimelineNews, void> {
    let seen: string | undefined;
    while (!signal.aborted) {
      const began = performance.now();
      const now = await stateOf(inspector, agentId);
      if (now === undefined) return;
      if (now !== seen) yield await this.#news();
      seen = now;
      const rest = Math.max(everyMs, 4 * (performance.now() - began));
      await sleep(rest, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #news(): Promise<TimelineNews> {
    const reader = this.#reader();
    const digests: string[] = [];
    const items: TimelineItem[] = [];
    let from: number | undefined;
    for await (const item of reader.items()) {
      const digest = createHash("sha256").update(JSON.stringify(item)).digest("base64");
      if (from === undefined && digest !== this.#sent[digests.length]) from = digests.length;
      if (from !== undefined) items.push(item);
      digests.push(digest);
    }
    this.#sent = digests;
    return { agent: await reader.agent(), from: from ?? digests.length, items };
  }
}

/** What news follows from; `undefined`: there is no such agent any more. */
async function stateOf(inspector: Pick<AgentInspector, "agent">, agentId: string): Promise<string | undefined> {
  const view = await inspector.agent(agentId);
  if (view === undefined) return undefined;
  return JSON.stringify([view.position, view.status, view.owner?.state, view.owner?.generation]);
}
