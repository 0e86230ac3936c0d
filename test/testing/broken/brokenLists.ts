import type { AgentSummary, ListOptions, RecordLog } from "../../../src/storage/RecordLog.ts";
import type { BrokenLog } from "./brokenLogs.ts";
import { changed, filtered, listing } from "../conformance/alteredLogs.ts";

const several = "filters by several statuses, free agents, due time and age";
const sorted = "sorts by the UTF-8 bytes of order";
const paged = "lists every agent once across pages, in ascending order";

/** Mistakes about which agents a list has, and in which order. */
export const brokenLists: readonly BrokenLog[] = [
  {
    mistake: "lists the first of several statuses only",
    caughtBy: several,
    make: () => asking(({ status, ...rest }) => ({ ...rest, status: [status ?? []].flat().slice(0, 1) })),
  },
  {
    mistake: "omits what is due at that very moment",
    caughtBy: several,
    make: () => omitting(({ dueAt }, { dueBefore }) => dueBefore !== undefined && dueAt === dueBefore),
  },
  {
    mistake: "omits what changed at that very moment",
    caughtBy: several,
    make: () => omitting(({ updatedAt }, { updatedBefore }) => updatedAt === updatedBefore),
  },
  {
    mistake: "counts those that have an owner towards the limit of what is free",
    caughtBy: several,
    make: () => limiting(({ free: _free, ...rest }) => rest, { free: true }),
  },
  {
    mistake: "counts those in other statuses towards the limit",
    caughtBy: "lists by status, after an order, and up to a limit",
    make: () => limiting(({ status: _status, ...rest }) => rest, { status: "queued" }),
  },
  {
    mistake: "omits agents that have an owner",
    caughtBy: "lists only the newest summary, and only under its status",
    make: () => asking((options) => ({ ...options, free: true })),
  },
  {
    mistake: "sorts by code units, not by bytes",
    caughtBy: sorted,
    make: () => listing((all) => all.toSorted((one, other) => (one.order < other.order ? -1 : 1))),
  },
  {
    mistake: "sorts without regard to case",
    caughtBy: sorted,
    make: () => listing((all) => all.toSorted((one, other) => one.order.localeCompare(other.order, "en"))),
  },
  {
    mistake: "gives the last agent of a page again",
    caughtBy: paged,
    make: () =>
      changed((log) => ({
        list: ({ after, ...options } = {}) =>
          filtered(log.list(options), ({ order }) => after === undefined || compare(order, after) >= 0),
      })),
  },
  {
    mistake: "omits behind a page the agents whose order begins alike",
    caughtBy: paged,
    make: () => omitting(({ order }, { after }) => after !== undefined && order.slice(0, 100) === after.slice(0, 100)),
  },
];

function asking(change: (options: ListOptions) => ListOptions): RecordLog {
  return changed((log) => ({ list: (options = {}) => log.list(change(options)) }));
}

function omitting(omits: (summary: AgentSummary, options: ListOptions) => boolean): RecordLog {
  return changed((log) => ({
    list: (options = {}) => filtered(log.list(options), (summary) => !omits(summary, options)),
  }));
}

/** A list that takes its page first, and then looks at what it should have looked at before. */
function limiting(change: (options: ListOptions) => ListOptions, looked: ListOptions): RecordLog {
  const isAsked = (options: ListOptions) => Object.keys(looked).some((name) => name in options);
  return changed((log) => ({
    async *list(options = {}) {
      if (!isAsked(options)) return yield* log.list(options);
      const fit = new Set<string>();
      for await (const { agentId } of log.list(looked)) fit.add(agentId);
      yield* filtered(log.list(change(options)), ({ agentId }) => fit.has(agentId));
    },
  }));
}

function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
