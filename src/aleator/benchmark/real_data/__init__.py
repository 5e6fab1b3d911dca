"""Measurements on public data as they are published, of every kind that estimators take.

``python -m aleator.benchmark.real_data titanic sms-spam`` fits every model on the unprepared
training part, without labels, and evaluates its embedding with all labels and with 5 % of them.
"""
