import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  type RollbackToolRegistry,
  strategy,
  tool,
  type AnyTool,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { openTelemetry, type OpenTelemetryOptions } from "agent-persistence/otel";
import { scriptedModel } from "agent-persistence/testing";
import { context, type Meter } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { z } from "zod";

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

/** Telemetry that keeps its spans and metrics in memory. */
export function recordingTelemetry(options: Omit<OpenTelemetryOptions, "tracer" | "meter"> = {}) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 2 ** 31 - 1 });
  const meters = new MeterProvider({ readers: [reader] });
  const meter: Meter = meters.getMeter("test");
  const tracer = provider.getTracer("test");
  const spans = () => exporter.getFinishedSpans();
  const named = (name: string) => spans().filter((span) => span.name === name);
  const parentOf = (span: ReturnType<typeof spans>[number]) =>
    spans().find((each) => each.spanContext().spanId === span.parentSpanContext?.spanId)?.name;
  const metrics = async () => {
    await meters.forceFlush();
    const found =
      metricExporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
    await meters.shutdown();
    return found;
  };
  return { telemetry: openTelemetry({ tracer, meter, ...options }), tracer, spans, named, parentOf, metrics };
}

/** A tool that does nothing but return. */
export const look = tool({
  name: "look",
  description: "Looks.",
  effect: "none",
  inputSchema: z.object({ at: z.string() }),
  execute: async ({ at }) => `seen ${at}`,
});

export const usage = { inputTokens: 12, outputTokens: 3, totalTokens: 15 };

interface TracedOptions {
  readonly storage?: PersistenceStorageProvider;
  readonly tools?: readonly AnyTool[];
  readonly id?: string;
  readonly turns?: Parameters<typeof scriptedModel>[0];
  readonly registry?: RollbackToolRegistry;
}

/** An agent of the default loop that calls `look` once, unless other turns are given. */
export function tracedAgent(
  telemetry: ReturnType<typeof openTelemetry> | undefined,
  {
    storage = new InMemoryPersistenceStorageProvider(),
    tools = [look],
    id = "desk",
    turns,
    registry,
  }: TracedOptions = {},
) {
  const model = scriptedModel(turns ?? [{ toolCalls: [{ toolName: "look", input: { at: "secret" } }] }, "done"]);
  const promptExecutor: typeof model = {
    execute: async (request) => ({ ...(await model.execute(request)), usage, finishReason: "stop" }),
  };
  return new AIAgent({ id, promptExecutor, llmModel: "small", modelParameters: { temperature: 0 }, tools }).install(
    Persistence,
    { storage, ...(telemetry && { telemetry }), ...(registry && { rollbackToolRegistry: registry }) },
  );
}

/** A graph whose single node makes one call after the other. */
export function callsOf(calls: readonly (readonly [AnyTool, unknown])[], fails = false) {
  return strategy<string, string>("calls", (graph) => {
    const all = graph.node("all", async (input: string, { tools }) => {
      for (const [called, argument] of calls) await tools.call(called, argument as never);
      if (fails) throw new TypeError("secret reason");
      return input;
    });
    graph.edge(graph.start, all);
    graph.edge(all, graph.finish);
  });
}
