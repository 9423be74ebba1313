/**
 * The web process: takes GitHub's webhooks. An event and its jobs are written in one transaction, so that
 * they exist together or not at all, and GitHub is answered before any of the work is done.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Db } from './database.js';
import { queue } from './jobs.js';
import { eventJobs, events, type GitHubPayload } from './schema.js';
import { isSigned } from './signature.js';

/** GitHub sends no more. */
const largestBody = 25 * 1024 * 1024;

export interface ReceiverOptions {
  readonly db: Db;
  readonly secret: string;
  /** What else a request does in its transaction; when it throws, event and jobs are rolled back. */
  readonly beforeCommit?: (deliveryId: string) => void;
  readonly onError?: (error: unknown) => void;
}

/** Answers 202 when the event is stored (or was before), 4xx to what is not GitHub's, 500 when nothing was stored. */
export function createReceiver(options: ReceiverOptions): Server {
  const { onError = console.error } = options;
  return createServer(async (request, response) => {
    const status = await receive(request, options).catch((error: unknown) => {
      onError(error);
      return 500;
    });
    response.writeHead(status).end();
  });
}

async function receive(request: IncomingMessage, options: ReceiverOptions): Promise<number> {
  if (request.method !== 'POST' || request.url !== '/webhooks/github') return 404;
  const body = await bodyOf(request);
  if (!body) return 413;
  if (!isSigned(body, header(request, 'x-hub-signature-256'), options.secret)) return 401;
  const payload = parse(body);
  const [name, deliveryId] = [header(request, 'x-github-event'), header(request, 'x-github-delivery')];
  if (!payload || !name || !deliveryId) return 400;
  await store({ name, deliveryId, payload }, options);
  return 202;
}

async function store(
  { name, deliveryId, payload }: { name: string; deliveryId: string; payload: GitHubPayload },
  { db, beforeCommit }: ReceiverOptions,
): Promise<void> {
  await db.transaction(async (tx) => {
    const [event] = await tx
      .insert(events)
      .values({ deliveryId, name, payload, repository: payload.repository?.full_name })
      .onConflictDoNothing({ target: events.deliveryId })
      .returning({ id: events.id });
    if (!event) return; // GitHub sends a delivery again when an answer came too late

    const deliver = await queue.enqueue(tx, 'deliver', { eventId: event.id });
    const index = await queue.enqueue(tx, 'index', { eventId: event.id });
    await tx.insert(eventJobs).values([
      { eventId: event.id, jobId: deliver.id, kind: 'deliver' },
      { eventId: event.id, jobId: index.id, kind: 'index' },
    ]);

    beforeCommit?.(deliveryId);
  });
}

function header(request: IncomingMessage, name: string): string {
  return String(request.headers[name] ?? '');
}

/** Undefined when it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > largestBody) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parse(body: Buffer): GitHubPayload | undefined {
  try {
    const payload: unknown = JSON.parse(body.toString());
    return typeof payload === 'object' && payload !== null ? payload : undefined;
  } catch {
    return undefined;
  }
}
