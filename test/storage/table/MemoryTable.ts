import type {
  LogTable,
  TableAppend,
  TableCreation,
  TableGap,
  TableHead,
  TableList,
  TableListed,
  TablePage,
  TablePublication,
  TableRange,
  TableSelection,
  TableSighting,
  TableSummary,
} from "agent-persistence/storage";

interface Agent {
  generation: number;
  beat: string;
  owner: string | undefined;
  stop: string | undefined;
  start: number;
  rows: TableAppend[];
  staged: TableAppend[];
  summary: TableSummary | undefined;
  blobs: Map<string, Uint8Array>;
}

/**
 * A table in memory: each method happens at once. An error after the fact stands for a connection that broke before the
 * answer came.
 */
export class MemoryTable implements LogTable {
  readonly name = "a table in memory";
  readonly capabilities = { durable: true, processes: "many", machines: "many", listing: "exact" } as const;
  /** Called before each method with its name, which waits for it; what it throws is what a driver throws. */
  onCall: (method: string) => void | Promise<void> = () => {};
  losesAnswer = false;
  /** Rows in a page. */
  pageSize = 7;
  readonly agents = new Map<string, Agent>();

  readonly blobs: NonNullable<LogTable["blobs"]> = {
    put: (agentId, reference, bytes) =>
      this.#write("put", () => void this.agent(agentId).blobs.set(reference, bytes.slice())),
    get: (agentId, reference) => this.#read("get", () => this.agents.get(agentId)?.blobs.get(reference)),
    copy: (agentId, reference, toAgentId) =>
      this.#write("copy", () => {
        const bytes = this.agents.get(agentId)?.blobs.get(reference);
        if (bytes) this.agent(toAgentId).blobs.set(reference, bytes.slice());
        return bytes !== undefined;
      }),
    delete: (agentId, reference) => this.#write("delete", () => void this.agents.get(agentId)?.blobs.delete(reference)),
  };

  agent(agentId: string): Agent {
    const known = this.agents.get(agentId);
    if (known) return known;
    const owner = { generation: 0, beat: "", owner: undefined, stop: undefined };
    const made: Agent = { ...owner, start: 0, rows: [], staged: [], summary: undefined, blobs: new Map() };
    this.agents.set(agentId, made);
    return made;
  }

  head(agentId: string): Promise<TableHead | undefined> {
    return this.#read("head", () => headOf(this.agents.get(agentId)));
  }

  claim(
    agentId: string,
    claim: { owner: string; beat: string },
    replaced?: TableSighting,
  ): Promise<number | undefined> {
    return this.#write("claim", () => {
      const agent = this.agent(agentId);
      const isSeen = replaced?.generation === agent.generation && replaced.beat === agent.beat;
      if (agent.owner !== undefined && !isSeen) return undefined;
      Object.assign(agent, { ...claim, stop: undefined, generation: agent.generation + 1 });
      return agent.generation;
    });
  }

  renew(agentId: string, generation: number, beat: string): Promise<{ stop?: string | undefined } | undefined> {
    return this.#write("renew", () => {
      const agent = this.#owned(agentId, generation);
      if (agent) agent.beat = beat;
      return agent && { stop: agent.stop };
    });
  }

  release(agentId: string, generation: number): Promise<void> {
    return this.#write("release", () => {
      const agent = this.#owned(agentId, generation);
      if (agent) agent.owner = undefined;
    });
  }

  requestStop(agentId: string, generation: number, reason: string): Promise<void> {
    return this.#write("requestStop", () => {
      const agent = this.#owned(agentId, generation);
      if (agent) agent.stop = reason;
    });
  }

  append(agentId: string, generation: number, append: TableAppend): Promise<boolean> {
    return this.#write("append", () => this.#appended(agentId, generation, append) !== undefined);
  }

  appendAndRelease(agentId: string, generation: number, append: TableAppend): Promise<boolean> {
    return this.#write("appendAndRelease", () => {
      const agent = this.#appended(agentId, generation, append);
      if (agent) agent.owner = undefined;
      return agent !== undefined;
    });
  }

  #appended(agentId: string, generation: number, append: TableAppend): Agent | undefined {
    const agent = this.#owned(agentId, generation);
    if (agent === undefined || (agent.rows.at(-1)?.position ?? agent.start) !== append.position - 1) return undefined;
    agent.rows.push({ ...append, encoded: append.encoded.slice() });
    agent.summary = append.summary ?? agent.summary;
    return agent;
  }

  create(agents: readonly TableCreation[]): Promise<readonly string[]> {
    return this.#write("create", () => {
      const created = agents.filter(({ agentId }) => !this.agents.has(agentId));
      for (const { agentId, append } of created)
        Object.assign(this.agent(agentId), {
          generation: 1,
          rows: [{ ...append, encoded: append.encoded.slice() }],
          summary: append.summary,
        });
      return created.map(({ agentId }) => agentId);
    });
  }

  rows(agentId: string, { after, upTo = Infinity, sinceSnapshot, last }: TableRange): Promise<TablePage> {
    return this.#read("rows", () => {
      const { start, rows } = this.agents.get(agentId) ?? { start: 0, rows: [] };
      const found = rows.filter(({ position }) => position > after && position <= upTo);
      const from = sinceSnapshot
        ? Math.max(
            0,
            found.findLastIndex(({ snapshot }) => snapshot),
          )
        : 0;
      const page = last ? found.slice(-1) : found.slice(from, from + this.pageSize);
      return { start, rows: page, more: !last && found.length > from + page.length };
    });
  }

  pruned(agentId: string): Promise<{ start: number; positions: readonly number[] }> {
    return this.#read("pruned", () => {
      const { start, rows } = this.agents.get(agentId) ?? { start: 0, rows: [] };
      return { start, positions: rows.filter(({ pruned }) => pruned).map(({ position }) => position) };
    });
  }

  remove(agentId: string, generation: number, ranges: readonly TableGap[]): Promise<boolean> {
    return this.#write("remove", () => {
      const agent = this.#owned(agentId, generation);
      if (agent === undefined) return false;
      agent.rows = agent.rows.filter(({ position }) => !ranges.some(([a, b]) => a <= position && position <= b));
      return true;
    });
  }

  drop(agentId: string, generation: number): Promise<boolean> {
    return this.#write("drop", () => {
      const agent = this.#owned(agentId, generation);
      if (agent === undefined) return false;
      const start = agent.rows.at(-1)?.position ?? agent.start;
      Object.assign(agent, { start, rows: [], staged: [], summary: undefined, owner: undefined, blobs: new Map() });
      return true;
    });
  }

  stage(agentId: string, generation: number, appends: readonly TableAppend[], first: boolean): Promise<boolean> {
    return this.#write("stage", () => {
      const agent = this.#owned(agentId, generation);
      if (agent) agent.staged = [...(first ? [] : agent.staged), ...appends];
      return agent !== undefined;
    });
  }

  publish(agentId: string, from: number, { generation, start, append }: TablePublication): Promise<boolean> {
    return this.#write("publish", () => {
      const agent = this.#owned(agentId, from);
      const rows = [...(agent?.staged ?? []), append];
      if (agent) Object.assign(agent, { generation, start, rows, summary: append.summary, staged: [] });
      return agent !== undefined;
    });
  }

  list({ statuses, after, limit }: TableSelection): Promise<TableList> {
    return this.#read("list", () => {
      const all = [...this.agents].flatMap(([agentId, agent]) => {
        const head = headOf(agent);
        return agent.summary && head ? [{ agentId, ...agent.summary, head }] : [];
      });
      const isBehind = ({ agentId, order }: TableListed) =>
        after === undefined ||
        compare(order, after.order) > 0 ||
        (order === after.order && after.agentId !== undefined && compare(agentId, after.agentId) > 0);
      const agents = all
        .filter((listed) => (statuses?.includes(listed.status) ?? true) && isBehind(listed))
        .toSorted((a, b) => compare(a.order, b.order) || compare(a.agentId, b.agentId))
        .slice(0, limit);
      return { agents, more: agents.length === limit };
    });
  }

  #owned(agentId: string, generation: number): Agent | undefined {
    const agent = this.agents.get(agentId);
    return agent?.owner !== undefined && agent.generation === generation ? agent : undefined;
  }

  async #read<Result>(method: string, query: () => Result): Promise<Result> {
    await this.onCall(method);
    return query();
  }

  async #write<Result>(method: string, statement: () => Result): Promise<Result> {
    await this.onCall(method);
    const result = statement();
    if (!this.losesAnswer) return result;
    this.losesAnswer = false;
    throw connectionLost();
  }
}

/** What a driver throws. */
export function connectionLost(): Error {
  return Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
}

function headOf(agent: Agent | undefined): TableHead | undefined {
  return agent && { generation: agent.generation, beat: agent.beat, owner: agent.owner, stop: agent.stop };
}

function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
