CREATE TABLE "activity" (
	"repository" text PRIMARY KEY NOT NULL,
	"events" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "claim_ends" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "claim_ends_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"job_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"locked_by" text NOT NULL,
	"how" text NOT NULL,
	"reason" text,
	"at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "event_jobs" (
	"job_id" bigint PRIMARY KEY NOT NULL,
	"event_id" bigint NOT NULL,
	"kind" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"delivery_id" text NOT NULL,
	"name" text NOT NULL,
	"repository" text,
	"payload" jsonb NOT NULL,
	"received_at" timestamp with time zone DEFAULT now() NOT NULL,
	"indexed_at" timestamp with time zone,
	CONSTRAINT "events_delivery_id_unique" UNIQUE("delivery_id")
);
--> statement-breakpoint
CREATE TABLE "job_limits" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "job_limits_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"scope" text NOT NULL,
	"name" text NOT NULL,
	"paused_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "job_limits_scope" CHECK (scope in ('queue', 'kind')),
	CONSTRAINT "job_limits_names" CHECK (char_length(name) between 1 and 128)
);
--> statement-breakpoint
CREATE TABLE "job_throttle" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "job_throttle_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"key" text NOT NULL,
	"until" timestamp with time zone NOT NULL,
	"job_id" bigint
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "jobs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"queue" text DEFAULT 'default' NOT NULL,
	"kind" text NOT NULL,
	"payload" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"payload_version" smallint DEFAULT 1 NOT NULL,
	"priority" smallint DEFAULT 0 NOT NULL,
	"run_at" timestamp with time zone DEFAULT now() NOT NULL,
	"state" text DEFAULT 'available' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"max_attempts" integer DEFAULT 10 NOT NULL,
	"timeout_s" integer DEFAULT 60 NOT NULL,
	"timeout_ms" integer,
	"locked_by" text,
	"heartbeat_at" timestamp with time zone,
	"started_at" timestamp with time zone,
	"last_error" text,
	"errors" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"dedupe_key" text,
	"again" jsonb,
	"limit_key" text,
	"meta" jsonb,
	"result" jsonb,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "jobs_running_is_locked" CHECK ((state = 'running') = (locked_by is not null) and (state = 'running') = (heartbeat_at is not null) and (state = 'running') = (started_at is not null)),
	CONSTRAINT "jobs_finished_when_final" CHECK (case when finished_at is null then state in ('available', 'running') else state in ('completed', 'discarded', 'cancelled') end),
	CONSTRAINT "jobs_counts" CHECK (attempts >= 0 and max_attempts >= 1 and timeout_s >= 1 and timeout_ms >= 1 and payload_version >= 1),
	CONSTRAINT "jobs_not_empty" CHECK (queue <> '' and kind <> '' and dedupe_key <> '' and limit_key <> ''),
	CONSTRAINT "jobs_errors" CHECK (jsonb_typeof(errors) = 'array')
);
--> statement-breakpoint
ALTER TABLE "event_jobs" ADD CONSTRAINT "event_jobs_event_id_events_id_fk" FOREIGN KEY ("event_id") REFERENCES "public"."events"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "event_jobs_event" ON "event_jobs" USING btree ("event_id");--> statement-breakpoint
CREATE UNIQUE INDEX "job_limits_name" ON "job_limits" USING btree ("scope","name");--> statement-breakpoint
CREATE UNIQUE INDEX "job_throttle_key" ON "job_throttle" USING btree ("kind","key");--> statement-breakpoint
CREATE INDEX "job_throttle_until" ON "job_throttle" USING btree ("until");--> statement-breakpoint
CREATE INDEX "jobs_claim" ON "jobs" USING btree ("queue","priority" DESC NULLS FIRST,"run_at","id") WHERE state = 'available';--> statement-breakpoint
CREATE INDEX "jobs_running" ON "jobs" USING btree ("id") WHERE state = 'running';--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_dedupe" ON "jobs" USING btree ("kind","dedupe_key") WHERE state in ('available', 'running') and dedupe_key is not null;--> statement-breakpoint
CREATE INDEX "jobs_over" ON "jobs" USING btree ("state","finished_at") WHERE finished_at is not null;