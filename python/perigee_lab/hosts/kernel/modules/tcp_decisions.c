// SPDX-License-Identifier: GPL-2.0-only
// Recorder of the inputs and decisions of Linux's congestion controls, call by call. After `echo
// cubic > /proc/decisions`, `decisions` is cubic for new connections; /proc/decisions has a line
// for each call, with the state before and the result after it. crates/perigee-cc/tests/replay.rs
// replays them through the simulator's controllers; docs/make/decisions.py records them.
//
//   perigee kernel build --module tcp_decisions.c

#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>
#include <net/tcp.h>

#define CAPACITY 150000U

// State of the connection at a call, as far as decisions depend on it.
struct scene {
	u64 clock_ns, edt_ns, delivered_us, pacing;
	u32 jiffies, cwnd, ssthresh, in_flight, packets_out, delivered, lost;
	u32 srtt_us, min_rtt_us, snd_una, snd_nxt, mss, lsndtime;
	u8 state, app_limited, cwnd_limited, paced;
};

struct call {
	char kind;
	u32 socket;
	struct scene before;
	// Arguments of the call: packets and RTT, or the fields of a rate sample.
	s64 told[10];
	// The result, and the state after the call.
	u64 result, pacing;
	u32 cwnd, ssthresh;
	u8 app_limited;
};

// Recorded congestion control; the socket holds a reference to its module.
static const struct tcp_congestion_ops *base;
static struct socket *holder;
static struct call *calls;
static u32 count;
static DEFINE_SPINLOCK(lock);

static void look(struct sock *sk, struct scene *s)
{
	struct tcp_sock *tp = tcp_sk(sk);

	s->clock_ns = tp->tcp_clock_cache;
	s->edt_ns = tp->tcp_wstamp_ns;
	s->delivered_us = tp->delivered_mstamp;
	s->pacing = sk->sk_pacing_rate;
	s->jiffies = tcp_jiffies32;
	s->cwnd = tcp_snd_cwnd(tp);
	s->ssthresh = tp->snd_ssthresh;
	s->in_flight = tcp_packets_in_flight(tp);
	s->packets_out = tp->packets_out;
	s->delivered = tp->delivered;
	s->lost = tp->lost;
	s->srtt_us = tp->srtt_us;
	s->min_rtt_us = tcp_min_rtt(tp);
	s->snd_una = tp->snd_una;
	s->snd_nxt = tp->snd_nxt;
	s->mss = tp->mss_cache;
	s->lsndtime = tp->lsndtime;
	s->state = inet_csk(sk)->icsk_ca_state;
	s->app_limited = tp->app_limited != 0;
	s->cwnd_limited = tcp_is_cwnd_limited(sk);
	s->paced = sk->sk_pacing_status != SK_PACING_NONE;
}

static void begin(struct sock *sk, char kind, struct call *c)
{
	memset(c, 0, sizeof(*c));
	c->kind = kind;
	c->socket = (u32)(unsigned long)sk;
	look(sk, &c->before);
}

static void finish(struct sock *sk, struct call *c, u64 result)
{
	struct tcp_sock *tp = tcp_sk(sk);

	c->result = result;
	c->cwnd = tcp_snd_cwnd(tp);
	c->ssthresh = tp->snd_ssthresh;
	c->pacing = sk->sk_pacing_rate;
	c->app_limited = tp->app_limited != 0;
	spin_lock_bh(&lock);
	if (count < CAPACITY)
		calls[count] = *c;
	count++;
	spin_unlock_bh(&lock);
}

static void rec_init(struct sock *sk)
{
	struct call c;

	begin(sk, 'i', &c);
	if (base->init)
		base->init(sk);
	finish(sk, &c, 0);
}

static u32 rec_ssthresh(struct sock *sk)
{
	struct call c;
	u32 result;

	begin(sk, 's', &c);
	result = base->ssthresh(sk);
	finish(sk, &c, result);
	return result;
}

static void rec_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct call c;

	begin(sk, 'a', &c);
	c.told[0] = acked;
	base->cong_avoid(sk, ack, acked);
	finish(sk, &c, 0);
}

static void rec_set_state(struct sock *sk, u8 state)
{
	struct call c;

	begin(sk, 't', &c);
	c.told[0] = state;
	if (base->set_state)
		base->set_state(sk, state);
	finish(sk, &c, 0);
}

static void rec_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct call c;

	begin(sk, 'e', &c);
	c.told[0] = event;
	if (base->cwnd_event)
		base->cwnd_event(sk, event);
	finish(sk, &c, 0);
}

static void rec_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct call c;

	begin(sk, 'p', &c);
	c.told[0] = sample->pkts_acked;
	c.told[1] = sample->rtt_us;
	if (base->pkts_acked)
		base->pkts_acked(sk, sample);
	finish(sk, &c, 0);
}

static u32 rec_undo_cwnd(struct sock *sk)
{
	struct call c;
	u32 result;

	begin(sk, 'u', &c);
	result = base->undo_cwnd(sk);
	finish(sk, &c, result);
	return result;
}

static void rec_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct call c;

	begin(sk, 'c', &c);
	c.told[0] = rs->acked_sacked;
	c.told[1] = rs->rtt_us;
	c.told[2] = rs->delivered;
	c.told[3] = rs->interval_us;
	c.told[4] = rs->prior_delivered;
	c.told[5] = rs->prior_in_flight;
	c.told[6] = rs->losses;
	c.told[7] = rs->is_app_limited;
	c.told[8] = rs->is_ack_delayed;
	c.told[9] = rs->prior_mstamp != 0;
	base->cong_control(sk, ack, flag, rs);
	finish(sk, &c, 0);
}

static void *lines_start(struct seq_file *m, loff_t *at)
{
	return *at < min(count, CAPACITY) ? &calls[*at] : NULL;
}

static void *lines_next(struct seq_file *m, void *v, loff_t *at)
{
	++*at;
	return lines_start(m, at);
}

static void lines_stop(struct seq_file *m, void *v)
{
}

static int line(struct seq_file *m, void *v)
{
	const struct call *c = v;
	const struct scene *s = &c->before;
	int i;

	if (c == calls)
		seq_puts(m, "call,socket,clock_ns,jiffies,edt_ns,delivered_us,pacing,cwnd,ssthresh,in_flight,packets_out,"
			    "delivered,lost,srtt_us8,min_rtt_us,snd_una,snd_nxt,mss,lsndtime,state,app_limited,"
			    "cwnd_limited,paced,told0,told1,told2,told3,told4,told5,told6,told7,told8,told9,result,"
			    "pacing_after,cwnd_after,ssthresh_after,app_limited_after\n");
	seq_printf(m, "%c,%u,%llu,%u,%llu,%llu,%llu,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u", c->kind, c->socket,
		   s->clock_ns, s->jiffies, s->edt_ns, s->delivered_us, s->pacing, s->cwnd, s->ssthresh, s->in_flight,
		   s->packets_out, s->delivered, s->lost, s->srtt_us, s->min_rtt_us, s->snd_una, s->snd_nxt, s->mss,
		   s->lsndtime, s->state, s->app_limited, s->cwnd_limited, s->paced);
	for (i = 0; i < ARRAY_SIZE(c->told); i++)
		seq_printf(m, ",%lld", c->told[i]);
	seq_printf(m, ",%llu,%llu,%u,%u,%u\n", c->result, c->pacing, c->cwnd, c->ssthresh, c->app_limited);
	return 0;
}

static const struct seq_operations lines = {
	.start = lines_start,
	.next = lines_next,
	.stop = lines_stop,
	.show = line,
};

static struct tcp_congestion_ops decisions __read_mostly = {
	.name = "decisions",
	.owner = THIS_MODULE,
	.init = rec_init,
	.ssthresh = rec_ssthresh,
	.cong_avoid = rec_cong_avoid,
	.set_state = rec_set_state,
	.cwnd_event = rec_cwnd_event,
	.pkts_acked = rec_pkts_acked,
	.undo_cwnd = rec_undo_cwnd,
};

// Operations of the base are not exported; a socket that uses them points to them.
static int choose(char *name)
{
	int err = holder->ops->setsockopt(holder, SOL_TCP, TCP_CONGESTION, KERNEL_SOCKPTR(name), strlen(name));

	if (err)
		return err;
	base = inet_csk(holder->sk)->icsk_ca_ops;
	if (base == &decisions)
		return -ELOOP;
	decisions.flags = base->flags;
	decisions.sndbuf_expand = base->sndbuf_expand;
	decisions.min_tso_segs = base->min_tso_segs;
	decisions.get_info = base->get_info;
	decisions.in_ack_event = base->in_ack_event;
	decisions.cong_avoid = base->cong_avoid ? rec_cong_avoid : NULL;
	decisions.cong_control = base->cong_control ? rec_cong_control : NULL;
	return 0;
}

static int decisions_open(struct inode *inode, struct file *file)
{
	return seq_open(file, &lines);
}

static ssize_t decisions_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char name[TCP_CA_NAME_MAX] = "";
	int err;

	if (size >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, from, size))
		return -EFAULT;
	err = choose(strim(name));
	return err ? err : size;
}

static const struct proc_ops proc = {
	.proc_open = decisions_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_write = decisions_write,
	.proc_release = seq_release,
};

static int __init decisions_register(void)
{
	int err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &holder);

	if (err)
		return err;
	calls = vzalloc(array_size(CAPACITY, sizeof(*calls)));
	if (!calls)
		return -ENOMEM;
	err = choose("cubic");
	if (err)
		return err;
	if (!proc_create("decisions", 0644, NULL, &proc))
		return -ENOMEM;
	return tcp_register_congestion_control(&decisions);
}

// Cannot be unloaded: connections may use the registered operations.
module_init(decisions_register);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("What congestion controls are told and decide");
