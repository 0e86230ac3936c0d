import { fromUtf8, utf8 } from "../../internal/bytes.ts";
import type { LogCapabilities, LogWatch } from "../RecordLog.ts";
import type {
  LogTable,
  TableAppend,
  TableBlobs,
  TableClaim,
  TableClaimed,
  TableCreation,
  TableGap,
  TableHead,
  TableList,
  TablePage,
  TablePruned,
  TablePublication,
  TableRange,
  TableRenewal,
  TableRow,
  TableSelection,
  TableSighting,
} from "../table/LogTable.ts";
import { type PostgresConnection, postgresAdvice, postgresFailure, type PostgresListen } from "./PostgresConnection.ts";
import { ownBytes, stagedId } from "./postgresNames.ts";
import { PostgresWrites, beatOf, headColumns, selectAgents } from "./PostgresWrites.ts";

const highestPosition = Number.MAX_SAFE_INTEGER;

/** The maximum number of appends in a page, and the size in bytes after which a page ends. */
const [pageRows, pageBytes] = [2_000, 4_000_000];

/**
 * The rows of agents in a Postgres database. Every method is one atomic statement. Each write first updates the row of
 * the agent and checks the owner there, so concurrent writes wait for each other.
 */
export class PostgresTable implements LogTable {
  readonly name = "Postgres";
  readonly capabilities: LogCapabilities = {
    durable: true,
    processes: "many",
    machines: "many",
    listing: "exact",
    narrows: true,
  };
  readonly blobs: TableBlobs;
  readonly #connection: PostgresConnection;
  readonly #writes: PostgresWrites;

  /** `undefined` without the option `listen`. The log then reports only releases in this process. */
  readonly watch?: NonNullable<LogTable["watch"]>;

  constructor(connection: PostgresConnection, listen: PostgresListen | undefined) {
    this.#connection = connection;
    if (listen) this.watch = (onChange) => watchChannel(listen, connection.names.channel, onChange);
    this.#writes = new PostgresWrites(connection.names);
    this.blobs = new PostgresBlobs(connection);
  }

  reasonOf(error: unknown): ReturnType<typeof postgresFailure> {
    return postgresFailure(error);
  }

  adviceOn(error: unknown): string | undefined {
    return postgresAdvice(error);
  }

  async head(agentId: string): Promise<TableHead | undefined> {
    const sql = `SELECT ${headColumns}, a.stop FROM ${this.#connection.names.agents} AS a WHERE a.id = $1::bytea`;
    const [row] = await this.#connection.rows<HeadRow>(sql, utf8(agentId));
    return row && headOf(row);
  }

  /** Claims an agent. Omits the end of the log after a wait for a concurrent append, which the statement cannot see. */
  async claim(agentId: string, { owner }: TableClaim, replaced?: TableSighting): ReturnType<LogTable["claim"]> {
    const { agents, appends } = this.#connection.names;
    // An update before the insert writes less than `ON CONFLICT DO UPDATE`, which locks the row first.
    const sql = `WITH taken AS (
        UPDATE ${agents} AS a SET generation = a.generation + 1, owner = $2::text, stop = NULL, renewed = now()
        WHERE a.id = $1::bytea AND (a.owner IS NULL OR (a.generation = $3::bigint AND ${beatOf("a")} = $4::text))
        RETURNING generation, start, position, (SELECT max(position) FROM ${appends} WHERE agent = a.key) AS newest,
          (SELECT line FROM ${appends} AS p WHERE p.agent = a.key AND p.position = a.position) AS line
      ), made AS (
        INSERT INTO ${agents} (id, generation, owner)
        SELECT $1::bytea, 1, $2::text WHERE NOT EXISTS (SELECT FROM taken)
        ON CONFLICT (id) DO NOTHING RETURNING generation, start, position
      ) SELECT * FROM taken UNION ALL SELECT generation, start, position, NULL, NULL FROM made`;
    const { generation, beat } = replaced ?? { generation: 0, beat: "" };
    const [row] = await this.#connection.rows<ClaimedRow>(sql, utf8(agentId), owner, generation, beat);
    return row && claimedOf(row);
  }

  /** Stores the time of the server, by which leases expire. */
  async renew(agentId: string, generation: number): Promise<TableRenewal | undefined> {
    const sql = `${this.#writes.head("renewed = now()")} RETURNING stop`;
    type Renewed = { readonly stop: string | null };
    const [row] = await this.#connection.rows<Renewed>(sql, utf8(agentId), generation);
    return row && { stop: row.stop === null ? undefined : (JSON.parse(row.stop) as string) };
  }

  async release(agentId: string, generation: number): Promise<void> {
    await this.#write(this.#writes.release(), agentId, generation);
  }

  async requestStop(agentId: string, generation: number, reason: string): Promise<void> {
    await this.#write(`${this.#writes.head("stop = $3::text")}`, agentId, generation, JSON.stringify(reason));
  }

  append(agentId: string, generation: number, append: TableAppend, releases = false): Promise<boolean> {
    const { sql, values } = this.#writes.append(append, releases);
    return this.#write(sql, agentId, generation, ...values);
  }

  appendAndRelease(agentId: string, generation: number, append: TableAppend): Promise<boolean> {
    return this.append(agentId, generation, append, true);
  }

  async create(agents: readonly TableCreation[]): Promise<readonly string[]> {
    const { sql, values } = this.#writes.create(agents);
    const created = await this.#connection.rows<{ readonly id: Uint8Array }>(sql, ...values);
    return created.map(({ id }) => fromUtf8(id));
  }

  async rows(agentId: string, { after, upTo = Infinity, sinceSnapshot, last }: TableRange): Promise<TablePage> {
    const { agents, appends } = this.#connection.names;
    const [from, to] = [Math.min(after, highestPosition), Math.min(upTo, highestPosition)];
    const inRange = "agent = a.key AND position > $2::bigint AND position <= $3::bigint";
    const newest = `SELECT max(position) FROM ${appends} WHERE ${inRange} AND mark IN (1, 3)`;
    const first = sinceSnapshot ? `position >= coalesce((${newest}), 0)` : "true";
    const length = "octet_length(line)";
    const page = last
      ? `SELECT position, line FROM ${appends} WHERE ${inRange} ORDER BY position DESC LIMIT 1`
      : `SELECT position, NULL::bytea AS line FROM ${appends} WHERE agent = a.key AND mark IN (2, 3)
        UNION ALL SELECT position, line FROM (
          SELECT position, line, sum(${length}) OVER (ORDER BY position) - ${length} AS before
          FROM ${appends} WHERE ${inRange} AND ${first} ORDER BY position LIMIT ${pageRows}
        ) AS counted WHERE before < ${pageBytes}`;
    const sql = `SELECT a.start, a.position AS "end", p.position, p.line FROM ${agents} AS a LEFT JOIN LATERAL (${page}) AS p ON true
      WHERE a.id = $1::bytea ORDER BY p.position`;
    type Found = AppendRow & { readonly end: Numeric };
    const found = await this.#connection.rows<Found>(sql, utf8(agentId), from, to);
    const rows = found.flatMap(rowOf);
    const isFull = rows.length === pageRows || rows.reduce((sum, { encoded }) => sum + encoded.length, 0) >= pageBytes;
    const end = found[0] && { end: Number(found[0].end) };
    return {
      start: startOf(found),
      rows,
      more: !last && isFull,
      ...(last ? end : { pruned: found.flatMap(prunedOf) }),
    };
  }

  async pruned(agentId: string): Promise<TablePruned> {
    const { agents, appends } = this.#connection.names;
    const sql = `SELECT a.start, p.position, NULL AS line FROM ${agents} AS a
      LEFT JOIN ${appends} AS p ON p.agent = a.key AND p.mark IN (2, 3)
      WHERE a.id = $1::bytea ORDER BY p.position`;
    const found = await this.#connection.rows<AppendRow>(sql, utf8(agentId));
    return { start: startOf(found), positions: found.flatMap(prunedOf) };
  }

  remove(agentId: string, generation: number, ranges: readonly TableGap[]): Promise<boolean> {
    return this.#write(this.#writes.remove(), agentId, generation, JSON.stringify(ranges));
  }

  drop(agentId: string, generation: number): Promise<boolean> {
    return this.#write(this.#writes.drop(), agentId, generation, stagedId(agentId));
  }

  async stage(agentId: string, generation: number, appends: readonly TableAppend[], first: boolean): Promise<boolean> {
    const id = stagedId(agentId);
    if (first && !(await this.#write(this.#writes.discardStaged(), agentId, generation, id))) return false;
    const { sql, values } = this.#writes.stage(appends);
    return this.#write(sql, agentId, generation, id, ...values);
  }

  publish(agentId: string, generation: number, published: TablePublication): Promise<boolean> {
    const { sql, values } = this.#writes.publish(published);
    return this.#write(sql, agentId, generation, stagedId(agentId), ...values);
  }

  async list(selection: TableSelection): Promise<TableList> {
    const { sql, values } = selectAgents(this.#connection.names, selection);
    const rows = await this.#connection.rows<ListedRow & (HeadRow | NoHead)>(sql, ...values);
    const agents = rows.map((row) => ({
      agentId: fromUtf8(row.name),
      order: fromUtf8(row.place),
      text: row.summary,
      head: row.generation === null ? { generation: 0, beat: "" } : headOf(row),
    }));
    return { agents, more: agents.length === Number(rows[0]?.size) };
  }

  /** Executes a write statement. Returns whether this generation still owned the agent. */
  #write(
    sql: string,
    agentId: string,
    generation: number,
    ...values: readonly (string | number | Uint8Array | null)[]
  ): Promise<boolean> {
    return this.#connection.changes(sql, utf8(agentId), generation, ...values);
  }
}

/** Calls `onChange` for each notification, and after a reconnect, because notifications were possibly lost. */
async function watchChannel(listen: PostgresListen, channel: string, onChange: () => void): Promise<LogWatch> {
  const wake = () => onChange();
  const listening = await listen(channel, wake, wake);
  return { close: async () => void (await listening.close()) };
}

type Numeric = number | string | bigint;

interface ClaimedRow extends AppendRow {
  readonly generation: Numeric;
  readonly newest: Numeric | null;
}

interface HeadRow {
  readonly generation: Numeric;
  readonly owner: string | null;
  readonly beat: string;
  readonly idle: Numeric;
  readonly stop?: string | null;
}

interface NoHead {
  readonly generation: null;
}

/** One append. `line` is null if the row only names the position of an append with a record of removed appends. */
interface AppendRow {
  readonly start: Numeric;
  readonly position: Numeric | null;
  readonly line: Uint8Array | null;
}

interface ListedRow {
  readonly name: Uint8Array;
  readonly place: Uint8Array;
  readonly summary: string;
  readonly size: Numeric;
}

function headOf({ generation, owner, beat, idle, stop = null }: HeadRow): TableHead {
  const idleMs = Math.max(0, Number(idle));
  return {
    generation: Number(generation),
    beat,
    idleMs,
    ...(owner !== null && { owner }),
    ...(stop !== null && { stop: JSON.parse(stop) as string }),
  };
}

function claimedOf(row: ClaimedRow): number | TableClaimed {
  const [generation, start, end] = [Number(row.generation), Number(row.start), Number(row.position)];
  const isEnd = Number(row.newest ?? start) === end;
  // A statement that waited for the deletion of the agent still sees the deleted appends.
  const rows = end > start ? rowOf(row) : [];
  return isEnd ? { generation, last: { start, rows, end, more: false } } : generation;
}

function rowOf({ position, line }: AppendRow): TableRow[] {
  return position === null || line === null ? [] : [{ position: Number(position), encoded: ownBytes(line) }];
}

function prunedOf({ position, line }: AppendRow): number[] {
  return position === null || line !== null ? [] : [Number(position)];
}

function startOf([row]: readonly AppendRow[]): number {
  return Number(row?.start ?? 0);
}

class PostgresBlobs implements TableBlobs {
  readonly #connection: PostgresConnection;

  constructor(connection: PostgresConnection) {
    this.#connection = connection;
  }

  async put(agentId: string, reference: string, bytes: Uint8Array): Promise<void> {
    const { agents, blobs } = this.#connection.names;
    const sql = `INSERT INTO ${blobs} (agent, reference, bytes)
      SELECT key, $2::text, $3::bytea FROM ${agents} WHERE id = $1::bytea
      ON CONFLICT (agent, reference) DO UPDATE SET bytes = excluded.bytes RETURNING agent`;
    const put = () => this.#connection.changes(sql, utf8(agentId), reference, bytes);
    if (await put()) return;
    await this.#ensureAgent(agentId);
    await put();
  }

  async get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    const { agents, blobs } = this.#connection.names;
    const sql = `SELECT b.bytes FROM ${agents} AS a JOIN ${blobs} AS b ON b.agent = a.key
      WHERE a.id = $1::bytea AND b.reference = $2::text`;
    const [row] = await this.#connection.rows<{ readonly bytes: Uint8Array }>(sql, utf8(agentId), reference);
    return row && ownBytes(row.bytes);
  }

  async delete(agentId: string, reference: string): Promise<void> {
    const { agents, blobs } = this.#connection.names;
    const sql = `DELETE FROM ${blobs} AS b USING ${agents} AS a
      WHERE a.id = $1::bytea AND b.agent = a.key AND b.reference = $2::text`;
    await this.#connection.rows(sql, utf8(agentId), reference);
  }

  async copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    const { agents, blobs } = this.#connection.names;
    await this.#ensureAgent(toAgentId);
    const sql = `INSERT INTO ${blobs} (agent, reference, bytes)
      SELECT t.key, b.reference, b.bytes FROM ${agents} AS t, ${agents} AS f JOIN ${blobs} AS b ON b.agent = f.key
      WHERE t.id = $1::bytea AND f.id = $2::bytea AND b.reference = $3::text
      ON CONFLICT (agent, reference) DO UPDATE SET bytes = excluded.bytes RETURNING agent`;
    return this.#connection.changes(sql, utf8(toAgentId), utf8(fromAgentId), reference);
  }

  async #ensureAgent(agentId: string): Promise<void> {
    const sql = `INSERT INTO ${this.#connection.names.agents} (id) VALUES ($1::bytea) ON CONFLICT (id) DO NOTHING`;
    await this.#connection.rows(sql, utf8(agentId));
  }
}
