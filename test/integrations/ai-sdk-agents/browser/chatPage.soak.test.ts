import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { inspect } from "agent-persistence/inspect";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { chatPage } from "../../../../examples/chat-server/chatPage.ts";
import { bundleWorker } from "../../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../../kill/temporaryDirectory.ts";
import { openBrowser } from "../../../timeline/browser/openBrowser.ts";
import type { ChatWorkerOptions } from "./chatWorker.ts";

let home: string;
let program: string;
let script: string;
let browser: Browser;
let directory: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../integrations/ai-sdk-agents/browser/chatWorker.ts");
  script = join(home, "page.js");
  await writeFile(script, await chatPage());
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await rm(home, { recursive: true, force: true });
});
beforeEach(async () => void (directory = await mkdtemp(join(home, "agents-"))));

/** A server in its own process. */
class Server {
  readonly #child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(port = 0): Promise<Server> {
    const options: ChatWorkerOptions = { directory, script, port };
    const child = fork(program, [JSON.stringify(options)], { execArgv: [] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [used] = (await once(child, "message")) as [number];
    return new Server(child, used);
  }

  /** Lets the model finish its last response. */
  goOn(): void {
    this.#child.send("go on");
  }

  async kill(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

async function open(server: Server): Promise<Page> {
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  page.setDefaultTimeout(0);
  await page.goto(`http://127.0.0.1:${server.port}/`);
  return page;
}

/** Waits for a text on the page. */
const shows = (page: Page, text: string) => page.getByText(text, { exact: true }).waitFor();

/** The texts and tool calls of the response, as the page shows them. */
const shown = (page: Page) => page.locator("[data-role=assistant]").locator("p, pre").allTextContents();

const beforePause = [
  "I look the order up.",
  "tool-look_up output-available",
  "It costs 25 euros. I refund it.",
  "tool-refund output-available",
];
const whole = [...beforePause, "Order 7 is refunded."];
const payments = async () => (await readFile(join(directory, "payments.txt"), "utf8")).trim().split("\n").length;

describe("the chat page of the example", () => {
  it("shows the whole response once after its server was killed in the middle of it and started again", async () => {
    const first = await Server.start();
    const page = await open(first);
    await page.getByText("Refund order 7", { exact: true }).click();
    await shows(page, "Order 7 is");
    await first.kill();
    const second = await Server.start(first.port);
    await expect.poll(() => shown(page)).toEqual([...beforePause, "Order 7 is "]);
    second.goOn();
    await shows(page, "Order 7 is refunded.");
    expect(await shown(page)).toEqual(whole);
    expect(await page.locator("[data-role=user]").count()).toBe(1);
    expect(await page.locator("[data-role=assistant]").count()).toBe(1);
    expect(await payments()).toBe(1);
  });

  it("shows a response that another server receives, and continues it when that server is killed", async () => {
    const [one, other] = [await Server.start(), await Server.start()];
    const page = await open(one);
    await page.getByText("Refund order 7", { exact: true }).click();
    await shows(page, "Order 7 is");
    const late = await open(other);
    await shows(late, "Order 7 is");
    expect(await shown(late)).toEqual([...beforePause, "Order 7 is "]);
    await one.kill();
    other.goOn();
    await shows(late, "Order 7 is refunded.");
    expect(await shown(late)).toEqual(whole);
    expect(await payments()).toBe(1);
  });

  it("stops a run of another server, and every page sees it", async () => {
    const [one, other] = [await Server.start(), await Server.start()];
    const page = await open(one);
    await page.getByText("Refund order 7", { exact: true }).click();
    await shows(page, "Order 7 is");
    const [late, watching] = [await open(other), await open(other)];
    for (const each of [late, watching]) await shows(each, "Order 7 is");
    await late.getByText("Stop", { exact: true }).click();
    for (const each of [page, late, watching]) {
      await shows(each, "This response was stopped.");
      await expect.poll(() => each.getByText("Stop", { exact: true }).count()).toBe(0);
      await expect.poll(async () => (await shown(each)).slice(0, beforePause.length)).toEqual(beforePause);
    }
    await expect.poll(() => shown(late)).toEqual([...beforePause, "Order 7 is "]);
    // A reloaded page does not continue the stopped run.
    await late.reload();
    await late.locator("main[data-status=ready]").waitFor();
    const view = inspect(new FilePersistenceStorageProvider({ directory }));
    await expect.poll(async () => (await view.agent("order-7"))?.status).toBe("paused");
  });
});
