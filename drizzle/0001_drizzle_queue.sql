-- drizzle-queue: storage parameters of "public"."jobs", version 1
alter table "public"."jobs" set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);
