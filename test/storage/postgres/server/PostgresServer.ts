import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { postgresBinaries, postgresUser, reachableFolder } from "./postgresBinaries.ts";

/** What a test needs no more of: a server that loses power loses data. One that is killed loses none. */
const careless = [
  "fsync=off",
  "full_page_writes=off",
  "shared_buffers=32MB",
  "max_connections=200",
  "max_wal_size=512MB",
];

/** A Postgres of its own, on loopback alone, with its data in a temporary folder. It ends with the process that started it. */
export class PostgresServer {
  readonly #folder: string;
  readonly #bin: string;
  readonly #user = postgresUser();
  readonly #guard: ChildProcess;
  readonly #port: number;
  readonly #password = randomBytes(16).toString("hex");
  #server: ChildProcess | undefined;

  readonly #settings: readonly string[];

  private constructor(folder: string, port: number, settings: readonly string[]) {
    this.#settings = settings;
    this.#folder = folder;
    this.#port = port;
    // First, so that it removes the folder whatever happens next.
    this.#guard = startGuard(folder);
    this.#bin = postgresBinaries(this.#user, folder);
  }

  /** @param settings of the server. Default: fast, and unsafe when the machine loses power. */
  static async start(settings: readonly string[] = careless): Promise<PostgresServer> {
    const folder = mkdtempSync(join(reachableFolder(postgresUser()), "agent-persistence-postgres-"));
    chmodSync(folder, 0o755);
    const server = new PostgresServer(folder, await freePort(), settings);
    try {
      server.#initialize();
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  get url(): string {
    return `postgres://postgres:${this.#password}@127.0.0.1:${this.#port}/postgres`;
  }

  /** Starts the server again that was killed. Processes of the one before may need a moment to notice that. */
  async restart(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#run();
      } catch (error) {
        if (attempt === 100 || !String(error).includes("still in use")) throw error;
      }
    }
  }

  /** Kills it. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async stop(): Promise<void> {
    await this.#end("SIGQUIT");
    this.#guard.stdin?.end();
    await once(this.#guard, "close");
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  async #run(): Promise<void> {
    const options = ["listen_addresses=127.0.0.1", "unix_socket_directories=", ...this.#settings];
    const given = options.flatMap((setting) => ["-c", setting]);
    this.#server = spawn(join(this.#bin, "postgres"), ["-D", this.#data, "-p", String(this.#port), ...given], {
      ...this.#user,
      stdio: ["ignore", "ignore", "pipe"],
    });
    await ready(this.#server);
  }

  #initialize(): void {
    const { uid, gid } = this.#user;
    mkdirSync(this.#data, { mode: 0o700 });
    if (uid !== undefined && gid !== undefined) chownSync(this.#data, uid, gid);
    const password = join(this.#folder, "password");
    writeFileSync(password, this.#password);
    const options = ["--username=postgres", "--auth=password", `--pwfile=${password}`, "--locale=C", "--encoding=UTF8"];
    execFileSync(join(this.#bin, "initdb"), ["-D", this.#data, "--no-sync", ...options], {
      ...this.#user,
      stdio: "pipe",
    });
  }

  async #end(signal: "SIGKILL" | "SIGQUIT"): Promise<void> {
    const server = this.#server;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const closed = once(server, "close");
    server.kill(signal);
    await closed;
  }
}

/** Stops the server and removes its folder when this process ends in whatever way: the input of the guard then ends, too. */
function startGuard(folder: string): ChildProcess {
  const script = `cat; read pid < "$1/data/postmaster.pid" && kill -QUIT "$pid"
    while kill -0 "$pid"; do sleep 0.1; done; rm -rf "$1"`;
  return spawn("sh", ["-c", script, "sh", folder], { stdio: ["pipe", "ignore", "ignore"], detached: true });
}

async function ready(server: ChildProcess): Promise<void> {
  let said = "";
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject);
    server.on("close", () => reject(new Error(`Postgres has ended: ${said}`)));
    server.stderr?.on("data", (chunk: Buffer) => {
      said = `${said}${String(chunk)}`.slice(-10_000);
      if (said.includes("ready to accept connections")) resolve();
    });
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
