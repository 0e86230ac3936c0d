import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentInspector } from "../../inspect/AgentInspector.ts";
import type { TimelineItem, TimelineNews } from "../data/TimelineData.ts";
import type { TimelineReader } from "../data/TimelineReader.ts";

/**
 * Pushes updates to one open page. The first update contains all items, because the log may have grown since the page
 * was rendered. Each later update starts at the first changed item. Only digests of sent items are kept.
 */
export class TimelineNewsFeed {
  readonly #reader: () => TimelineReader;
  #sent: readonly string[] = [];

  constructor(reader: () => TimelineReader) {
    this.#reader = reader;
  }

  /**
   * Reads again after new records arrived. Waits several times as long as a read takes, because reading a long log is
   * expensive. Ends when the agent is deleted.
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

/** Returns a value that changes with the agent, or `undefined` if the agent was deleted. */
async function stateOf(inspector: Pick<AgentInspector, "agent">, agentId: string): Promise<string | undefined> {
  const view = await inspector.agent(agentId);
  if (view === undefined) return undefined;
  return JSON.stringify([view.position, view.status, view.owner?.state, view.owner?.generation]);
}
